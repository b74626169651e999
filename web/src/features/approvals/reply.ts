// What a person fills in, and the reply that it makes. Whether it fits is the server's to say.

import type { FieldProblem, Problem } from '@/api/errors';
import type { FormField, ReplyForm } from '@/api/generated/events';

/** What stands in the fields, by their places; what is typed stays as it is typed. */
export type Draft = Readonly<Record<string, string | readonly string[]>>;

/** The place of a field: the names of the groups it is in, and its own. */
export function placeOf(path: string, name: string): string {
  return path === '' ? name : `${path}.${name}`;
}

/** What the fields begin with. */
export function firstDraft(form: ReplyForm): Draft {
  const draft: Record<string, string | readonly string[]> = {};
  if (form.type === 'fields') collect(form.fields, '', draft);
  return draft;
}

function collect(fields: readonly FormField[], path: string, draft: Record<string, string | readonly string[]>) {
  for (const { name, form, default: value } of fields) {
    const place = placeOf(path, name);
    if (form.type === 'fields') collect(form.fields, place, draft);
    else if (Array.isArray(value)) draft[place] = value.map(String);
    else if (value !== undefined && value !== null) draft[place] = String(value);
  }
}

/** The reply of what is filled in. Fields that are left empty are left out. */
export function replyOf(form: ReplyForm, draft: Draft): unknown {
  return form.type === 'fields' ? membersOf(form.fields, '', draft) : (valueOf(form, draft['']) ?? '');
}

function membersOf(fields: readonly FormField[], path: string, draft: Draft): Record<string, unknown> {
  const members: [string, unknown][] = [];
  for (const { name, form, required } of fields) {
    const place = placeOf(path, name);
    if (form.type !== 'fields') {
      const value = valueOf(form, draft[place]);
      if (value !== undefined) members.push([name, value]);
      continue;
    }
    const group = membersOf(form.fields, place, draft);
    if (required || Object.keys(group).length > 0) members.push([name, group]);
  }
  return Object.fromEntries(members);
}

function valueOf(form: ReplyForm, typed: string | readonly string[] | undefined): unknown {
  if (form.type === 'choices') return typeof typed === 'string' ? [typed] : typed;
  if (typeof typed !== 'string' || typed.trim() === '') return undefined;
  switch (form.type) {
    case 'number': {
      // What is no number is sent as it is typed, so that the server says so.
      const number = Number(typed);
      return Number.isFinite(number) ? number : typed.trim();
    }
    case 'boolean':
      return typed === 'true';
    case 'text':
      return form.multiline ? typed : typed.trim();
    default:
      return typed;
  }
}

/** What the server says about the fields, by their places. */
export function problemsOf(problem: Problem): ReadonlyMap<string, FieldProblem> {
  const found = new Map<string, FieldProblem>();
  for (const one of problem.fields ?? []) if (!found.has(one.field)) found.set(one.field, one);
  return found;
}

const SHOWN_CHARS_MAX = 300;

/** A reply in one line. */
export function replyText(value: unknown): string {
  const text = plainText(value).replace(/\s+/g, ' ').trim();
  return text.length > SHOWN_CHARS_MAX ? `${text.slice(0, SHOWN_CHARS_MAX)}…` : text;
}

function plainText(value: unknown): string {
  if (Array.isArray(value)) return value.map(plainText).join(', ');
  if (typeof value === 'object' && value !== null) {
    const members = Object.entries(value).map(([name, member]) => `${name}: ${plainText(member)}`);
    return members.join('; ');
  }
  return String(value);
}
