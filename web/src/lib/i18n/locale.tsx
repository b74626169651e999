import { type ReactNode, createContext, useCallback, useContext, useEffect, useMemo, useState } from 'react';
import { loadSetting, saveSetting } from '@/lib/storage';
import type { Strings } from './en';
import { type CodedMessage, sentenceOf } from './sentence';

/** Only the language that is translation is loaded. */
const TABLES = {
  en: { name: 'English', load: async () => (await import('./en')).en },
  zh: { name: '中文', load: async () => (await import('./zh')).zh },
} satisfies Record<string, { name: string; load: () => Promise<Strings> }>;

export type Locale = keyof typeof TABLES;

export const LOCALES = Object.entries(TABLES).map(([locale, { name }]) => ({ locale: locale as Locale, name }));

/** What is said of the codes that the server sends; made from `fixtures/codes.json`. The first answer needs none. */
const SENTENCES: Record<Locale, () => Promise<Record<string, string>>> = {
  en: async () => (await import('./codes/en.json')).default,
  zh: async () => (await import('./codes/zh.json')).default,
};

/** A page waits so long before it brings what the first answer can be read without. */
const SPARE_MS = 1_500;

/** As `Intl` and the `lang` attribute call them. */
const TAGS: Record<Locale, string> = { en: 'en', zh: 'zh-CN' };

/** A language with all that the page says in it. */
export interface Translation {
  locale: Locale;
  t: Strings;
}

interface I18n extends Translation {
  /** For `Intl`. */
  tag: string;
  /** The sentence of a code; none where this page does not know it. */
  translate: (message: CodedMessage) => string | null;
  choose: (locale: Locale) => void;
}

const I18nContext = createContext<I18n | null>(null);

/** What to say and how to write numbers and times. */
export function useI18n(): I18n {
  const i18n = useContext(I18nContext);
  if (i18n === null) throw new Error('useI18n needs an I18nProvider');
  return i18n;
}

export function I18nProvider({ first, children }: { first: Translation; children: ReactNode }) {
  const [translation, setTranslation] = useState(first);
  useEffect(() => {
    document.documentElement.lang = TAGS[translation.locale];
  }, [translation]);
  const [sentences, loadSentences] = useSentences(translation.locale);
  const i18n = useMemo<I18n>(() => {
    const choose = (chosen: Locale) => {
      saveSetting('language', chosen);
      void loadTranslation(chosen).then(setTranslation);
    };
    const tag = TAGS[translation.locale];
    const translate = (message: CodedMessage) => {
      if (sentences === null) loadSentences();
      return sentences && sentenceOf(message, sentences, tag);
    };
    return { ...translation, tag, translate, choose };
  }, [translation, sentences, loadSentences]);
  return <I18nContext value={i18n}>{children}</I18nContext>;
}

/** The sentences of a language, and how to have them at once: they come when one is wanted, or in spare time. */
function useSentences(locale: Locale): [Record<string, string> | null, () => void] {
  const [loaded, setLoaded] = useState<{ locale: Locale; sentences: Record<string, string> } | null>(null);
  const load = useCallback(() => {
    // Where the server is away, the next sentence that is wanted asks again.
    SENTENCES[locale]().then(
      (sentences) => setLoaded({ locale, sentences }),
      () => {},
    );
  }, [locale]);
  useEffect(() => {
    const timer = setTimeout(load, SPARE_MS);
    return () => clearTimeout(timer);
  }, [load]);
  return [loaded?.locale === locale ? loaded.sentences : null, load];
}

export async function loadTranslation(locale: Locale): Promise<Translation> {
  return { locale, t: await TABLES[locale].load() };
}

/** The language that was chosen here, or that the browser asks for. */
export function initialLocale(): Locale {
  const chosen = loadSetting('language');
  if (chosen !== null && Object.hasOwn(TABLES, chosen)) return chosen as Locale;
  return preferredLocale(navigator.languages);
}

/** The first of the person's languages that there is a table for. */
export function preferredLocale(languages: readonly string[]): Locale {
  for (const language of languages) {
    const locale = language.toLowerCase().split('-')[0] ?? '';
    if (Object.hasOwn(TABLES, locale)) return locale as Locale;
  }
  return 'en';
}
