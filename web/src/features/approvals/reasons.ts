// Why a person is asked and what they should know, in their language. Questions that were asked by an older server have
// the server's words alone.

import type { CallQuestion } from '@/api/approvals';
import type { Notice, Question } from '@/api/generated/events';

type Say = (told: Notice) => string | null;

export function reasonOf(question: Question, say: Say): string {
  // Chinese sentences stand without a blank between them.
  return sentences(question.reasons, say)?.join(' ').replace(/。 /g, '。') ?? question.because;
}

export function cautionsOf(question: CallQuestion, say: Say): string[] {
  return sentences(question.cautions, say) ?? question.warnings ?? [];
}

/** None unless all are known: half of the reasons could mislead. */
function sentences(notices: Notice[] | undefined, say: Say): string[] | null {
  const said = (notices ?? []).map(say).filter((sentence) => sentence !== null);
  return said.length > 0 && said.length === notices?.length ? said : null;
}
