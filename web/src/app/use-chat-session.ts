import { useEffect, useRef, useState } from 'react';
import { ChatSession, type Listener } from '@/features/chat/chat-session';

interface Open {
  /** Tells one session from the next; a new conversation keeps it when it gets its address. */
  key: number;
  session: ChatSession;
}

let opened = 0;

function make(conversation: string | null, listener: Listener): Open {
  opened += 1;
  return { key: opened, session: new ChatSession(conversation, listener) };
}

/** The session of the conversation in the address bar. */
export function useChatSession(conversation: string | null, listener: Listener): Open {
  const latest = useRef(listener);
  useEffect(() => {
    latest.current = listener;
  });
  const [stable] = useState<Listener>(() => ({
    onCreated: (id) => latest.current.onCreated(id),
    onRun: () => latest.current.onRun(),
    onApproval: () => latest.current.onApproval(),
  }));
  const [current, setCurrent] = useState(() => make(conversation, stable));
  if (current.session.conversation !== conversation) setCurrent(make(conversation, stable));
  useEffect(() => {
    current.session.open();
    return () => current.session.close();
  }, [current.session]);
  return current;
}
