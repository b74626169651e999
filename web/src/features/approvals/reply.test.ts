import { expect, test } from 'vitest';
import type { FormField, ReplyForm } from '@/api/generated/events';
import { firstDraft, problemsOf, replyOf, replyText } from './reply';

const text: ReplyForm = { type: 'text', max_chars: 100 };
const field = (name: string, form: ReplyForm, more: Partial<FormField> = {}): FormField => ({ name, form, ...more });
const options = [{ value: 'a' }, { value: 'b', title: 'B' }];

const FORM: ReplyForm = {
  type: 'fields',
  fields: [
    field('name', text, { required: true }),
    field('seats', { type: 'number', whole: true }, { default: 2 }),
    field('quiet', { type: 'boolean' }),
    field('food', { type: 'choices', options, min_items: 0, max_items: 2 }, { default: ['a'] }),
    field('who', { type: 'fields', fields: [field('mail', text)] }),
  ],
};

test('fields begin with what the model proposes', () => {
  expect(firstDraft(FORM)).toEqual({ seats: '2', food: ['a'] });
  expect(firstDraft(text)).toEqual({});
});

test('a reply has the values of the fields, and what is empty is left out', () => {
  const draft = { name: ' Mei ', seats: '3', quiet: 'false', food: ['b'], 'who.mail': 'm@x.org' };
  const who = { mail: 'm@x.org' };
  expect(replyOf(FORM, draft)).toEqual({ name: 'Mei', seats: 3, quiet: false, food: ['b'], who });
  expect(replyOf(FORM, { name: '', 'who.mail': '  ' })).toEqual({});
  // The server says what is wrong with it.
  expect(replyOf(FORM, { seats: 'two' })).toEqual({ seats: 'two' });
});

test('a question without a form has one value', () => {
  expect(replyOf({ ...text, multiline: true }, { '': 'a\nb ' })).toBe('a\nb ');
  expect(replyOf({ type: 'choice', options }, { '': 'b' })).toBe('b');
  expect(replyOf({ type: 'choices', options, min_items: 1, max_items: 2 }, { '': ['a', 'b'] })).toEqual(['a', 'b']);
  expect(replyOf(text, {})).toBe('');
});

test('of what is wrong with a field the first is shown', () => {
  const [one, two] = [
    { field: 'a', notice: { code: 'misfit_missing' } },
    { field: 'a', notice: { code: 'misfit_more' } },
  ];
  expect(problemsOf({ fields: [one, two] }).get('a')).toBe(one);
  expect(problemsOf({}).size).toBe(0);
});

test('a reply is told in one line', () => {
  expect(replyText('a\n b')).toBe('a b');
  expect(replyText(['a', 'b'])).toBe('a, b');
  expect(replyText({ seats: 2, who: { mail: 'm' } })).toBe('seats: 2; who: mail: m');
  expect(replyText('x'.repeat(400))).toHaveLength(301);
});
