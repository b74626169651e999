import { expect, test } from 'vitest';
import type { Conversation } from '@/api/conversations';
import { byAge, changeList, emptyList } from './list-state';

function conversation(id: string, updated_at = 0): Conversation {
  return { id, title: id, messages: 2, created_at: 0, updated_at };
}

const ids = (list: Conversation[]) => list.map(({ id }) => id).join('');

test('pages follow each other, and what moved is not shown twice', () => {
  const first = changeList(emptyList, {
    type: 'page',
    offset: 0,
    limit: 2,
    page: [conversation('a'), conversation('b')],
  });
  expect(first).toMatchObject({ hasMore: true, isLoaded: true });
  // A new conversation pushed `b` onto the second page.
  const second = changeList(first, { type: 'page', offset: 2, limit: 2, page: [conversation('b'), conversation('c')] });
  expect(ids(second.conversations)).toBe('abc');
  const end = changeList(second, { type: 'page', offset: 3, limit: 2, page: [] });
  expect(end.hasMore).toBe(false);
});

test('a reread puts the latest first', () => {
  const before = changeList(emptyList, {
    type: 'page',
    offset: 0,
    limit: 4,
    page: [conversation('a'), conversation('b')],
  });
  const after = changeList(before, { type: 'page', offset: 0, limit: 4, page: [conversation('b'), conversation('a')] });
  expect(ids(after.conversations)).toBe('ba');
});

test('a list is cut by age where the age changes', () => {
  const now = new Date(2026, 10, 16, 9).getTime();
  const list = [conversation('a', now), conversation('b', now - 1_000), conversation('c', now - 86_400_000)];
  expect(byAge(list, now).map((group) => `${group.age} ${ids(group.conversations)}`)).toEqual([
    'today ab',
    'yesterday c',
  ]);
});
