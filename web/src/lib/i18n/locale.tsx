import { type ReactNode, createContext, useContext, useEffect, useMemo, useState } from 'react';
import { recall, remember } from '@/lib/storage';
import { type Strings, en } from './en';
import { zh } from './zh';

const TABLES = { en, zh } satisfies Record<string, Strings>;

export type Locale = keyof typeof TABLES;

export const LOCALES = Object.entries(TABLES).map(([locale, { name }]) => ({ locale: locale as Locale, name }));

/** As `Intl` and the `lang` attribute call them. */
const TAGS: Record<Locale, string> = { en: 'en', zh: 'zh-CN' };

interface Speech {
  locale: Locale;
  /** For `Intl`. */
  tag: string;
  t: Strings;
  choose: (locale: Locale) => void;
}

const SpeechContext = createContext<Speech>({ locale: 'en', tag: TAGS.en, t: en, choose: () => {} });

/** What to say and how to write numbers and times. */
export function useSpeech(): Speech {
  return useContext(SpeechContext);
}

export function SpeechProvider({ children }: { children: ReactNode }) {
  const [locale, setLocale] = useState(initialLocale);
  useEffect(() => {
    document.documentElement.lang = TAGS[locale];
  }, [locale]);
  const speech = useMemo<Speech>(() => {
    const choose = (chosen: Locale) => {
      remember('language', chosen);
      setLocale(chosen);
    };
    return { locale, tag: TAGS[locale], t: TABLES[locale], choose };
  }, [locale]);
  return <SpeechContext value={speech}>{children}</SpeechContext>;
}

function initialLocale(): Locale {
  const chosen = recall('language');
  if (chosen !== null && chosen in TABLES) return chosen as Locale;
  return preferredLocale(navigator.languages);
}

/** The first of the person's languages that there is a table for. */
export function preferredLocale(languages: readonly string[]): Locale {
  for (const language of languages) {
    const locale = language.toLowerCase().split('-')[0] ?? '';
    if (locale in TABLES) return locale as Locale;
  }
  return 'en';
}
