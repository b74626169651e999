// What is kept of an answer, in the form in which a run followed here is shown.

import type { Message, Part, ToolPart } from '@/api/generated/events';
import { type Call, type CallState, type Item, shortened } from './run-state';

export function keptItems(message: Message): Item[] {
  return message.parts.flatMap((part, index): Item[] => {
    const key = `${message.id}.${index}`;
    switch (part.type) {
      case 'text':
      case 'reasoning':
        return [{ kind: part.type, key, text: part.text, open: false }];
      case 'cut_off':
        return [{ kind: 'broken', key, text: part.text, now: 'last' }];
      case 'tool':
        return [keptCall(part)];
      case 'said':
        return [{ kind: 'interjection', key: part.message, text: part.text, by: part.by, step: part.step ?? null }];
      case 'compacted':
        return [shortened(key, part)];
      default:
        return [];
    }
  });
}

/** Why the answer ended otherwise than with an answer: the reason, and that a message was not answered. */
export function keptNotices(message: Message): KeptNotice[] {
  return message.parts.filter((part): part is KeptNotice => part.type === 'notice');
}

export type KeptNotice = Extract<Part, { type: 'notice' }>;

function keptCall(part: ToolPart): Call {
  return {
    kind: 'call',
    key: part.call,
    step: part.step,
    call: part.call,
    tool: part.tool,
    input: part.input,
    state: keptState(part),
    progress: '',
    output: part.output ?? null,
    failure: part.failure ?? null,
    cutOff: part.cut_off ?? null,
    subagent: part.subagent ?? null,
    trail: [],
    approval: null,
    claimedBy: null,
    startedAt: part.started_at ?? null,
    endedAt: part.ended_at ?? null,
  };
}

const REFUSALS = new Set([
  'unknown_tool',
  'bad_arguments',
  'denied',
  'unanswered',
  'limited',
  'unavailable',
  'repeating',
]);

/** Messages of older servers have only four words for the state. */
function keptState({ state, call_state, failure, cut_off }: ToolPart): CallState {
  if (call_state) return call_state;
  switch (state) {
    case 'completed':
      return 'finished';
    case 'error':
      if (cut_off) return 'unknown';
      return failure && REFUSALS.has(failure.kind) ? 'refused' : 'failed';
    case 'pending':
      return 'requested';
    default:
      return state;
  }
}
