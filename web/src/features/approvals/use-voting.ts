import { useCallback, useEffect, useState } from 'react';
import { type Approval, getApproval } from '@/api/approvals';
import type { Question } from '@/api/generated/events';

/** How others vote is asked for while the card is in view. */
const POLL_MS = 10_000;

export interface Voting {
  /** The question as the server has it; none before it was read. */
  approval: Approval | null;
  refresh: () => void;
}

/** How far the approvers of a question are; none where the user of the run decides alone. */
export function useVoting(question: Question, isOpen: boolean): Voting | null {
  const [approval, setApproval] = useState<Approval | null>('you' in question ? (question as Approval) : null);
  const hasApprovers = Boolean(question.approvers);
  const id = question.approval;
  const refresh = useCallback(() => {
    getApproval(id).then(setApproval, () => {
      // The next time will do.
    });
  }, [id]);
  useEffect(() => {
    if (!hasApprovers || !isOpen) return;
    refresh();
    const timer = setInterval(() => {
      if (document.visibilityState === 'visible') refresh();
    }, POLL_MS);
    return () => clearInterval(timer);
  }, [hasApprovers, isOpen, refresh]);
  return hasApprovers ? { approval, refresh } : null;
}
