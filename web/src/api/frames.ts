import type { EventBody, Live } from './generated/events';

/** Something a run says: a fact with its number in the log, or what is being written right now. */
export type Frame = { kind: 'event'; seq: number; body: EventBody } | { kind: 'live'; body: Live };

const LAST = new Set<EventBody['type']>(['run.finished', 'run.failed', 'run.cancelled']);

/** Whether nothing may follow. */
export function isLast(frame: Frame): boolean {
  return frame.kind === 'event' && LAST.has(frame.body.type);
}
