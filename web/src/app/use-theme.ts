import { useState } from 'react';
import { loadSetting, saveSetting } from '@/lib/storage';

export const THEMES = ['system', 'light', 'dark'] as const;

export type Theme = (typeof THEMES)[number];

/** Light, dark, or as the system says. See public/theme.js, which sets it before the first paint. */
export function useTheme(): [Theme, (theme: Theme) => void] {
  const [theme, setTheme] = useState<Theme>(() => THEMES.find((known) => known === loadSetting('theme')) ?? 'system');
  const choose = (chosen: Theme) => {
    setTheme(chosen);
    saveSetting('theme', chosen === 'system' ? null : chosen);
    if (chosen === 'system') delete document.documentElement.dataset.theme;
    else document.documentElement.dataset.theme = chosen;
  };
  return [theme, choose];
}
