// Why a person is asked and what they should know, in their language. Questions that were asked by an older server have
// the server's words alone.

import type { Notice, Question } from '@/api/generated/events';

type Translate = (message: Notice) => string | null;

export function reasonOf(question: Question, translate: Translate): string {
  // Chinese sentences stand without a blank between them.
  return sentences(question.reasons, translate)?.join(' ').replace(/。 /g, '。') ?? question.because;
}

export function cautionsOf(question: Question, translate: Translate): string[] {
  return sentences(question.cautions, translate) ?? question.warnings ?? [];
}

/** None unless all are known: half of the reasons could mislead. */
function sentences(notices: Notice[] | undefined, translate: Translate): string[] | null {
  const said = (notices ?? []).map(translate).filter((sentence) => sentence !== null);
  return said.length > 0 && said.length === notices?.length ? said : null;
}
