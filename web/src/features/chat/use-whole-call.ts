import { useEffect, useState } from 'react';
import { useChat } from './chat-context';
import { type Call, itemsOf } from './run-state';
import type { CallPlace } from './thread-messages';

/**
 * All that is known of a call. What is kept of an old one does not say what each stage decided or who allowed it;
 * the log of its run does, and is read on demand.
 */
export function useWholeCall({ call, run, isOver }: CallPlace, isWanted: boolean): Call {
  const { session } = useChat();
  const [whole, setWhole] = useState<Call | null>(null);
  const isMissing =
    isWanted && isOver && run !== null && call.trail.length === 0 && call.approval === null && whole === null;
  useEffect(() => {
    if (!isMissing || run === null) return;
    let isCurrent = true;
    session.loadRun(run).then(
      (state) => {
        const found = itemsOf(state).find((item) => item.kind === 'call' && item.call === call.call);
        if (isCurrent && found?.kind === 'call') setWhole(found);
      },
      () => {
        // It is only more than what is shown already.
      },
    );
    return () => {
      isCurrent = false;
    };
  }, [isMissing, run, call.call, session]);
  return whole !== null && whole.call === call.call ? whole : call;
}
