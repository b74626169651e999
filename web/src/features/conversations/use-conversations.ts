import { useCallback, useEffect, useMemo, useReducer, useRef } from 'react';
import { type Conversation, deleteConversation, listConversations, renameConversation } from '@/api/conversations';
import { getReach, subscribeReach } from '@/api/reachability';
import { type ListState, changeList, emptyList } from './list-state';

const PAGE = 40;

export interface Conversations extends ListState {
  /** Looks what is new; everything already shown stays. */
  refresh: () => void;
  showMore: () => void;
  rename: (id: string, title: string) => Promise<void>;
  remove: (id: string) => Promise<void>;
}

export function useConversations(): Conversations {
  const [state, change] = useReducer(changeList, emptyList);
  const shown = useRef(0);

  const load = useCallback(async (offset: number, limit: number) => {
    try {
      const page: Conversation[] = await listConversations(offset, limit);
      change({ type: 'page', offset, limit, page });
    } catch (error) {
      change({ type: 'failed', error: error as Error });
    }
  }, []);

  const refresh = useCallback(() => void load(0, Math.max(PAGE, shown.current)), [load]);
  const showMore = useCallback(() => void load(shown.current, PAGE), [load]);

  useEffect(() => {
    shown.current = state.conversations.length;
  }, [state.conversations]);

  useEffect(() => {
    refresh();
    window.addEventListener('focus', refresh);
    const unsubscribe = subscribeReach(() => {
      if (getReach() === 'up') refresh();
    });
    return () => {
      window.removeEventListener('focus', refresh);
      unsubscribe();
    };
  }, [refresh]);

  return useMemo(
    () => ({
      ...state,
      refresh,
      showMore,
      rename: async (id, title) => {
        await renameConversation(id, title);
        change({ type: 'renamed', id, title });
      },
      remove: async (id) => {
        await deleteConversation(id);
        change({ type: 'removed', id });
      },
    }),
    [state, refresh, showMore],
  );
}
