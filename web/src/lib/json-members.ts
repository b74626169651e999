// The members of a JSON object as a form shows them: each with the text of its value, exactly as it was written, so
// that no digit of a number is lost on the way.

import { isJson, layOutJson, splitMembers } from './json-text';

export interface Member {
  name: string;
  /** Text to be read: of a string its characters, of anything else its JSON. */
  text: string;
  kind: 'text' | 'plain' | 'json';
}

/** In their order; null for what is no object, or has a name twice, so that a form would not tell all of it. */
export function membersOf(json: string): Member[] | null {
  if (!isJson(json)) return null;
  const parts = splitMembers(json);
  if (parts === null || new Set(parts.map(({ name }) => name)).size < parts.length) return null;
  return parts.map(({ name, value }) => {
    if (value.startsWith('"')) return { name, text: JSON.parse(value) as string, kind: 'text' };
    if (value.startsWith('{') || value.startsWith('[')) return { name, text: layOutJson(value) ?? value, kind: 'json' };
    return { name, text: value, kind: 'plain' };
  });
}

/** A name that was written for programs, as people would write it: `reply_to` and `replyTo` are `Reply to`. */
export function labelOf(name: string): string {
  const words = name
    .replace(/([a-z0-9])([A-Z])/g, '$1 $2')
    .replace(/[_\-.]+/g, ' ')
    .trim();
  return words === '' ? name : words.charAt(0).toUpperCase() + words.slice(1).toLowerCase();
}
