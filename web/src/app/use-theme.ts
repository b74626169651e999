import { useState } from 'react';
import { recall, remember } from '@/lib/storage';

export const THEMES = ['system', 'light', 'dark'] as const;

export type Theme = (typeof THEMES)[number];

/** Light, dark, or as the system says. See public/theme.js, which sets it before the first paint. */
export function useTheme(): [Theme, (theme: Theme) => void] {
  const [theme, setTheme] = useState<Theme>(() => THEMES.find((known) => known === recall('theme')) ?? 'system');
  const choose = (chosen: Theme) => {
    setTheme(chosen);
    remember('theme', chosen === 'system' ? null : chosen);
    if (chosen === 'system') delete document.documentElement.dataset.theme;
    else document.documentElement.dataset.theme = chosen;
  };
  return [theme, choose];
}
