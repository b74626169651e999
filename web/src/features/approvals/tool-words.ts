// What a tool does, in words for the person who is asked about it.

import type { Tool } from '@/api/catalog';
import type { Strings } from '@/lib/i18n/en';
import type { Locale } from '@/lib/i18n/locale';
import english from '@/lib/i18n/tool-words/en.json';
import chinese from '@/lib/i18n/tool-words/zh.json';
import { labelOf } from '@/lib/json-members';
import { own } from '@/lib/own';

export interface ToolWords {
  title: string;
  /** What it does; none of a tool that the server does not know, such as one that a client declared. */
  deed: string | null;
  /** Whether the page says it in the reader's language; otherwise the tool says it in its own. */
  isTranslated: boolean;
  /** An argument by its name. */
  label: (name: string) => string;
}

/** What tools that come with Helve do, and their arguments where those have a name that no person would say. */
const WORDS: Record<Locale, { deeds: Record<string, string>; fields: Record<string, string> }> = {
  en: english,
  zh: chinese,
};

/** An argument of a tool in the reader's language; none where the tool names it. */
export function fieldWord(name: string, locale: Locale): string | undefined {
  return own(WORDS[locale].fields, name);
}

/** Tools that come with Helve are translated; others speak for themselves. */
export function toolWords(name: string, tools: Tool[], t: Strings, locale: Locale): ToolWords {
  const { deeds } = WORDS[locale];
  const tool = tools.find((known) => known.name === name);
  return {
    title: own(t.tools.names, name) ?? tool?.display_name ?? name,
    isTranslated: own(deeds, name) !== undefined,
    deed: own(deeds, name) ?? (firstSentence(tool?.description ?? '') || null),
    label: (argument) =>
      titleIn(tool?.parameters, argument) ??
      fieldWord(`${name}.${argument}`, locale) ??
      fieldWord(argument, locale) ??
      labelOf(argument),
  };
}

/** Descriptions are written for models and may be long; the first sentence says what the tool does. */
export function firstSentence(description: string): string {
  const text = description.trim().split('\n\n')[0]?.replace(/\s+/g, ' ') ?? '';
  return /^.*?(?:[.!?](?=\s+[\p{Lu}\p{Lo}`"“]|\s*$)|[。！？])/su.exec(text)?.[0] ?? text;
}

/** The title that a schema gives to one of its properties. */
function titleIn(schema: unknown, name: string): string | null {
  const properties = memberOf(schema, 'properties');
  const title = memberOf(memberOf(properties, name), 'title');
  return typeof title === 'string' && title !== '' ? title : null;
}

function memberOf(value: unknown, name: string): unknown {
  return typeof value === 'object' && value !== null && Object.hasOwn(value, name)
    ? (value as Record<string, unknown>)[name]
    : undefined;
}
