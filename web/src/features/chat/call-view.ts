// How a call is shown: which state, which words, how long it took.

import type { Notice } from '@/api/generated/events';
import type { CallPlace } from './thread-messages';
import { BROWSER_JS_EVAL } from './client-tools';
import { type Call, type CallState, isPending } from './run-state';
import { firstString } from '@/lib/json-text';

export type ShownState = CallState | 'stopped';

/** A call that has not ended when its run has will never end. */
export function shownState({ call, isOver }: CallPlace): ShownState {
  return isOver && isPending(call) ? 'stopped' : call.state;
}

/** Whether it puts a question of the model's to the person. */
export function asksPerson({ approval }: Call): boolean {
  return approval?.question.kind === 'user';
}

/** A line by which a person recognises the call. */
export function summaryOf(call: Call, translate: (message: Notice) => string | null): string {
  const reported = call.progress.trimEnd().split('\n').at(-1);
  const headline = call.output?.headline && translate(call.output.headline);
  const line = headline || call.output?.title || reported || (questionLine(call) ?? firstString(call.input));
  return line.replace(/\s+/g, ' ').trim();
}

/** What the model asks; nothing while it is open, since it is read in its card then, and not twice. */
function questionLine({ approval }: Call): string | null {
  if (approval?.question.kind !== 'user') return null;
  return approval.settled === null ? '' : approval.question.question;
}

/** How long it took; of what waits for a person that would say nothing about the tool. */
export function tookMs(call: Call): number | null {
  const { startedAt, endedAt } = call;
  if (isForBrowser(call)) return null;
  return startedAt !== null && endedAt !== null ? endedAt - startedAt : null;
}

/** Whether the result of an identical call was used. */
export function isCached({ trail }: Call): boolean {
  return trail.some((stage) => stage.stage === 'cache' && stage.found !== 'miss');
}

/** Whether the answer is not the tool's own: what stood in for it, and why. */
export function standIn({ trail }: Call): { by: string; because: string; notice: Notice | null } | null {
  const found = trail.findLast((stage) => stage.stage === 'fallback');
  return found === undefined ? null : { by: found.by, because: found.because, notice: found.notice ?? null };
}

/** What is written on the words of the tool, and where they are from. */
export function labelsOf({
  output,
  failure,
}: Call): { source: string; place: string | null; isPrivate: boolean; isUntrusted: boolean } | null {
  const labels = output?.labels ?? failure?.labels;
  if (!labels) return null;
  const { source, place } = labels;
  return {
    source,
    place: place === source ? null : (place ?? null),
    isPrivate: labels.private ?? false,
    isUntrusted: labels.untrusted ?? false,
  };
}

/** Whether the page itself has to run it. */
export function isForBrowser(call: Call): boolean {
  return call.tool === BROWSER_JS_EVAL;
}

/** Whether some page has yet to bring its result. */
export function waitsForPage(call: Call): boolean {
  return isForBrowser(call) && (call.state === 'delegated' || call.state === 'claimed');
}
