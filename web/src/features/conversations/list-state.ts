// The list of conversations as far as it was read, latest first.

import type { Conversation } from '@/api/conversations';
import { type Age, ageOf } from '@/lib/time';

export interface ListState {
  conversations: Conversation[];
  /** Whether there may be more behind the last one. */
  hasMore: boolean;
  isLoaded: boolean;
  error: Error | null;
}

export type ListAction =
  | { type: 'page'; offset: number; limit: number; page: Conversation[] }
  | { type: 'renamed'; id: string; title: string }
  | { type: 'removed'; id: string }
  | { type: 'failed'; error: Error };

export const emptyList: ListState = { conversations: [], hasMore: false, isLoaded: false, error: null };

export function changeList(state: ListState, action: ListAction): ListState {
  switch (action.type) {
    case 'page': {
      // While pages are read the list may move; what comes again is the newer word.
      const fresh = new Set(action.page.map(({ id }) => id));
      const before = state.conversations.slice(0, action.offset).filter(({ id }) => !fresh.has(id));
      return {
        conversations: [...before, ...action.page],
        hasMore: action.page.length === action.limit,
        isLoaded: true,
        error: null,
      };
    }
    case 'renamed': {
      const { id, title } = action;
      return { ...state, conversations: state.conversations.map((one) => (one.id === id ? { ...one, title } : one)) };
    }
    case 'removed':
      return { ...state, conversations: state.conversations.filter(({ id }) => id !== action.id) };
    case 'failed':
      return { ...state, error: action.error };
  }
}

export interface AgeGroup {
  age: Age;
  conversations: Conversation[];
}

/** The list cut by age, without changing its order. */
export function byAge(conversations: Conversation[], now: number): AgeGroup[] {
  const groups: AgeGroup[] = [];
  for (const conversation of conversations) {
    const age = ageOf(conversation.updated_at, now);
    const last = groups.at(-1);
    if (last?.age === age) last.conversations.push(conversation);
    else groups.push({ age, conversations: [conversation] });
  }
  return groups;
}
