import { beforeEach, expect, test, vi } from 'vitest';
import { loadDraft, deleteDrafts, saveDraft } from './drafts';

beforeEach(() => {
  const kept = new Map<string, string>();
  vi.stubGlobal('localStorage', {
    getItem: (name: string) => kept.get(name) ?? null,
    setItem: (name: string, value: string) => kept.set(name, value),
    removeItem: (name: string) => kept.delete(name),
  });
});

test('every conversation keeps its own draft, and a new one too', () => {
  saveDraft(null, 'a new thought');
  saveDraft('c1', 'to the first');
  expect([loadDraft(null), loadDraft('c1'), loadDraft('c2')]).toEqual(['a new thought', 'to the first', '']);
  saveDraft('c1', '');
  expect([loadDraft(null), loadDraft('c1')]).toEqual(['a new thought', '']);
  deleteDrafts();
  expect(loadDraft(null)).toBe('');
});

test('only the latest are kept, and what somebody else has written there is no draft', () => {
  for (let n = 0; n < 60; n += 1) saveDraft(`c${n}`, `text ${n}`);
  expect([loadDraft('c9'), loadDraft('c10'), loadDraft('c59')]).toEqual(['', 'text 10', 'text 59']);
  localStorage.setItem('helve.drafts', '[1, {');
  expect(loadDraft('c59')).toBe('');
  localStorage.setItem('helve.drafts', '{"c1": 7}');
  expect(loadDraft('c1')).toBe('');
});
