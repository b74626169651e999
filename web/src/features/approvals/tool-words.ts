// What a tool does, in words for the person who is asked about it.

import type { Tool } from '@/api/catalog';
import type { Strings } from '@/lib/i18n/en';
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

/** Tools that come with Helve are translated; others speak for themselves. */
export function toolWords(name: string, tools: Tool[], { tools: words }: Strings): ToolWords {
  const tool = tools.find((known) => known.name === name);
  return {
    title: own(words.names, name) ?? tool?.display_name ?? name,
    isTranslated: own(words.deeds, name) !== undefined,
    deed: own(words.deeds, name) ?? (firstSentence(tool?.description ?? '') || null),
    label: (argument) =>
      titleIn(tool?.parameters, argument) ??
      own(words.fields, `${name}.${argument}`) ??
      own(words.fields, argument) ??
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
