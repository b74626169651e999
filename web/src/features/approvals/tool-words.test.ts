import { expect, test } from 'vitest';
import { en } from '@/lib/i18n/en';
import { zh } from '@/lib/i18n/zh';
import { firstSentence, toolWords } from './tool-words';

const PAY = {
  name: 'pay',
  display_name: 'Pay somebody',
  description: 'Sends money from the shop’s account, e.g. a refund. Never twice.\n\nMore for models.',
  parameters: { properties: { to: { title: 'Recipient' }, amount: {} } },
};

test('a tool speaks for itself', () => {
  const { title, deed, label } = toolWords('pay', [PAY], en, 'en');
  expect([title, deed, label('to'), label('amount'), label('due_date')]).toEqual([
    'Pay somebody',
    'Sends money from the shop’s account, e.g. a refund.',
    'Recipient',
    'Amount',
    'Due date',
  ]);
});

test('a tool that comes with Helve speaks the reader’s language', () => {
  const tools = [{ name: 'save_note', display_name: 'Save a note', description: 'Saves a note.' }];
  const words = toolWords('save_note', tools, zh, 'zh');
  expect(`${words.title}${words.deed}${words.label('text')}`).toMatch(/^[\p{Script=Han}\p{P}]+$/u);
});

test('what the server does not know has its name', () => {
  expect(toolWords('open_door', [], en, 'en')).toMatchObject({ title: 'open_door', deed: null });
  expect(toolWords('x', [{ name: 'x', parameters: 'none' }], en, 'en').label('__proto__')).toBe('Proto');
  expect(toolWords('constructor', [], zh, 'zh')).toMatchObject({ title: 'constructor', deed: null });
});

test('only the first sentence is shown', () => {
  expect(firstSentence('保存一条笔记。以后可以读。')).toBe('保存一条笔记。');
  expect(firstSentence('No end')).toBe('No end');
  expect(firstSentence('')).toBe('');
});
