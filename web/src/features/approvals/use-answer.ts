import { useState } from 'react';
import { answerApproval, getApproval } from '@/api/approvals';
import { ApiError } from '@/api/errors';
import type { Answer, ApprovalId } from '@/api/generated/events';

/** How a question was settled, and by whom. */
export interface Settled {
  answer: Answer;
  by: string | null;
}

export type Answering =
  | { at: 'open'; error: Error | null }
  | { at: 'sending' }
  /** It counts, and others must agree, too. */
  | { at: 'counted' }
  /** Our answer, or the one that came before it. */
  | { at: 'settled'; settled: Settled; isOurs: boolean };

/** Answers a question. The first answer wins, so a late one learns which that was. */
export function useAnswer(id: ApprovalId, onSettled?: () => void): [Answering, (answer: Answer) => void] {
  const [answering, setAnswering] = useState<Answering>({ at: 'open', error: null });
  const answer = async (given: Answer) => {
    setAnswering({ at: 'sending' });
    try {
      const { state } = await answerApproval(id, given);
      setAnswering(
        state === 'pending' ? { at: 'counted' } : { at: 'settled', settled: { answer: given, by: null }, isOurs: true },
      );
      onSettled?.();
    } catch (error) {
      const first = error instanceof ApiError && error.status === 409 ? await firstAnswer(id) : null;
      setAnswering(
        first === null ? { at: 'open', error: error as Error } : { at: 'settled', settled: first, isOurs: false },
      );
    }
  };
  return [answering, (given) => void answer(given)];
}

async function firstAnswer(id: ApprovalId): Promise<Settled | null> {
  try {
    const { answer, by } = await getApproval(id);
    return answer ? { answer, by: by ?? null } : null;
  } catch {
    return null;
  }
}
