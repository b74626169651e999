import { type ReactNode, createContext, useCallback, useContext, useEffect, useMemo, useState } from 'react';
import { recall, remember } from '@/lib/storage';
import type { Strings } from './en';
import { type Told, sentenceOf } from './sentence';

/** Only the language that is spoken is brought. */
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
export interface Spoken {
  locale: Locale;
  t: Strings;
}

interface Speech extends Spoken {
  /** For `Intl`. */
  tag: string;
  /** The sentence of a code; none where this page does not know it. */
  say: (told: Told) => string | null;
  choose: (locale: Locale) => void;
}

const SpeechContext = createContext<Speech | null>(null);

/** What to say and how to write numbers and times. */
export function useSpeech(): Speech {
  const speech = useContext(SpeechContext);
  if (speech === null) throw new Error('there is no speech around this');
  return speech;
}

export function SpeechProvider({ first, children }: { first: Spoken; children: ReactNode }) {
  const [spoken, setSpoken] = useState(first);
  useEffect(() => {
    document.documentElement.lang = TAGS[spoken.locale];
  }, [spoken]);
  const [sentences, bringSentences] = useSentences(spoken.locale);
  const speech = useMemo<Speech>(() => {
    const choose = (chosen: Locale) => {
      remember('language', chosen);
      void speak(chosen).then(setSpoken);
    };
    const tag = TAGS[spoken.locale];
    const say = (told: Told) => {
      if (sentences === null) bringSentences();
      return sentences && sentenceOf(told, sentences, tag);
    };
    return { ...spoken, tag, say, choose };
  }, [spoken, sentences, bringSentences]);
  return <SpeechContext value={speech}>{children}</SpeechContext>;
}

/** The sentences of a language, and how to have them at once: they come when one is wanted, or in spare time. */
function useSentences(locale: Locale): [Record<string, string> | null, () => void] {
  const [brought, setBrought] = useState<{ locale: Locale; sentences: Record<string, string> } | null>(null);
  const bring = useCallback(() => {
    // Where the server is away, the next sentence that is wanted asks again.
    SENTENCES[locale]().then(
      (sentences) => setBrought({ locale, sentences }),
      () => {},
    );
  }, [locale]);
  useEffect(() => {
    const timer = setTimeout(bring, SPARE_MS);
    return () => clearTimeout(timer);
  }, [bring]);
  return [brought?.locale === locale ? brought.sentences : null, bring];
}

export async function speak(locale: Locale): Promise<Spoken> {
  return { locale, t: await TABLES[locale].load() };
}

/** The language that was chosen here, or that the browser asks for. */
export function initialLocale(): Locale {
  const chosen = recall('language');
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
