// Makes the sentence of a code in the reader's language. `helve-types` does the same for what the server shows itself.

import { formatBytes } from '@/lib/bytes';
import { own } from '@/lib/own';
import { formatDateTime, formatDuration } from '@/lib/time';

/** A code and what varies in its sentence. */
export interface CodedMessage {
  code: string;
  params?: Record<string, unknown>;
}

/** Notices are nested in notices; no real one goes deeper than this. */
const DEPTH_MAX = 5;
/** Nor is a list of notices longer. */
const LIST_MAX = 20;

/** None where the code or one of its parameters is not known here: a newer server may say more than this page. */
export function sentenceOf(
  message: CodedMessage,
  sentences: Record<string, string>,
  locale: string,
  depth = DEPTH_MAX,
): string | null {
  const sentence = own(sentences, message.code);
  if (sentence === undefined || depth === 0) return null;
  let isWhole = true;
  const text = sentence.replace(/\{([^}]*)\}/g, (_, slot: string) => {
    const filled = fill(slot, message.params ?? {}, sentences, locale, depth);
    isWhole &&= filled !== null;
    return filled ?? '';
  });
  return isWhole ? text : null;
}

/** What stands in the place of `name`, or of `name|one|many`; the end of a name says how its value is written. */
function fill(
  slot: string,
  params: Record<string, unknown>,
  sentences: Record<string, string>,
  locale: string,
  depth: number,
): string | null {
  const [name = '', singular, plural] = slot.split('|');
  const value = own(params, name);
  if (singular !== undefined && plural !== undefined) return value === 1 ? singular : plural;
  if (typeof value === 'string') return value;
  if (typeof value === 'number') return written(name, value, locale);
  const nested = (item: unknown) => (isCodedMessage(item) ? sentenceOf(item, sentences, locale, depth - 1) : null);
  if (!Array.isArray(value)) return nested(value);
  const all = value.slice(0, LIST_MAX + 1).map(nested);
  return all.length <= LIST_MAX && all.every((item) => item !== null) ? all.join(separator(name, locale)) : null;
}

/** What stands between the sentences of a list: `or` where one of them is enough. */
function separator(name: string, locale: string): string {
  const isChinese = locale.startsWith('zh');
  if (name.endsWith('_any')) return isChinese ? '或' : ' or ';
  return isChinese ? '；' : '; ';
}

function written(name: string, value: number, locale: string): string {
  switch (name.split('_').at(-1)) {
    case 'ms':
      return formatDuration(value, locale);
    case 'at':
      return formatDateTime(value, locale);
    case 'bytes':
      return formatBytes(value, locale);
    default:
      return value.toLocaleString(locale);
  }
}

function isCodedMessage(value: unknown): value is CodedMessage {
  return typeof value === 'object' && value !== null && typeof (value as CodedMessage).code === 'string';
}
