import { beforeEach, expect, test, vi } from 'vitest';
import { draftOf, forgetDrafts, keepDraft } from './drafts';

beforeEach(() => {
  const kept = new Map<string, string>();
  vi.stubGlobal('localStorage', {
    getItem: (name: string) => kept.get(name) ?? null,
    setItem: (name: string, value: string) => kept.set(name, value),
    removeItem: (name: string) => kept.delete(name),
  });
});

test('every conversation keeps its own draft, and a new one too', () => {
  keepDraft(null, 'a new thought');
  keepDraft('c1', 'to the first');
  expect([draftOf(null), draftOf('c1'), draftOf('c2')]).toEqual(['a new thought', 'to the first', '']);
  keepDraft('c1', '');
  expect([draftOf(null), draftOf('c1')]).toEqual(['a new thought', '']);
  forgetDrafts();
  expect(draftOf(null)).toBe('');
});

test('only the latest are kept, and what somebody else has written there is no draft', () => {
  for (let n = 0; n < 60; n += 1) keepDraft(`c${n}`, `text ${n}`);
  expect([draftOf('c9'), draftOf('c10'), draftOf('c59')]).toEqual(['', 'text 10', 'text 59']);
  localStorage.setItem('helve.drafts', '[1, {');
  expect(draftOf('c59')).toBe('');
  localStorage.setItem('helve.drafts', '{"c1": 7}');
  expect(draftOf('c1')).toBe('');
});
