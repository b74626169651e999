import { useAui, useAuiState } from '@assistant-ui/react';
import { useEffect, useRef } from 'react';
import { loadDraft, saveDraft } from '@/lib/drafts';
import type { ChatSession } from './chat-session';

/** Keeps what is written until it is sent. A message that could not be sent is kept like one that was not. */
export function useDraft(session: ChatSession, unsent: string): void {
  const aui = useAui();
  const text = useAuiState(({ composer }) => composer.text);
  const isRestored = useRef(false);
  useEffect(() => {
    const draft = loadDraft(session.conversation);
    if (draft !== '') aui.composer().setText(draft);
  }, [aui, session]);
  useEffect(() => {
    // The first text is that of an empty composer.
    if (isRestored.current) saveDraft(session.conversation, text || unsent);
    isRestored.current = true;
  }, [session, text, unsent]);
}
