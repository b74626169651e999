// A conversation as the page shows it: what was kept, the runs followed here, and a message on its way.

import type { Frame } from '@/api/frames';
import type { Message, MessageId, RunId, Timestamp } from '@/api/generated/events';
import type { Link } from '@/api/follow-run';
import { type Asked, type RunState, applyFrame, isOver, newRun } from './run-state';

export interface ChatState {
  history: History;
  /** In the order in which they began. */
  runs: RunState[];
  sending: Sending | null;
  link: Link;
  /** What went wrong with following a run and will not mend itself. */
  error: Error | null;
}

export type History =
  { status: 'loading' } | { status: 'failed'; error: Error } | { status: 'ready'; messages: Message[] };

/** A message that the server has not confirmed. */
export interface Sending {
  key: string;
  text: string;
  at: Timestamp;
  /** The run it started, once that is known. */
  run: RunId | null;
  error: Error | null;
}

export type Action =
  | { type: 'history'; history: History; active?: RunId | null }
  | { type: 'send'; key: string; text: string; at: Timestamp }
  | { type: 'sent'; run: RunId }
  | { type: 'not-sent'; error: Error }
  | { type: 'discard' }
  | { type: 'follow'; run: RunId }
  | { type: 'frame'; run: RunId; frame: Frame }
  | { type: 'link'; link: Link }
  | { type: 'failed'; error: Error }
  | { type: 'forget'; run: RunId };

export function newChat(isNew: boolean): ChatState {
  const history: History = isNew ? { status: 'ready', messages: [] } : { status: 'loading' };
  return { history, runs: [], sending: null, link: 'live', error: null };
}

export function changeChat(state: ChatState, action: Action): ChatState {
  switch (action.type) {
    case 'history': {
      const read = { ...state, history: action.history };
      return action.active ? follow(read, action.active) : read;
    }
    case 'send': {
      const { key, text, at } = action;
      return { ...state, sending: { key, text, at, run: null, error: null } };
    }
    case 'sent':
      return { ...follow(state, action.run), sending: state.sending && { ...state.sending, run: action.run } };
    case 'not-sent':
      return { ...state, sending: state.sending && { ...state.sending, error: action.error } };
    case 'discard':
      return { ...state, sending: null };
    case 'follow':
      return follow(state, action.run);
    case 'frame':
      return takeFrame(state, action.run, action.frame);
    case 'link':
      return state.link === action.link ? state : { ...state, link: action.link };
    case 'failed':
      return { ...state, error: action.error };
    case 'forget':
      return {
        ...state,
        error: null,
        runs: state.runs.map((run) => (run.run === action.run ? newRun(run.run) : run)),
      };
  }
}

function follow(state: ChatState, run: RunId): ChatState {
  if (state.runs.some((known) => known.run === run)) return state;
  return { ...state, runs: [...state.runs, newRun(run)], error: null };
}

function takeFrame(state: ChatState, id: RunId, frame: Frame): ChatState {
  const at = state.runs.findIndex(({ run }) => run === id);
  const before = state.runs[at];
  if (before === undefined) return state;
  const after = applyFrame(before, frame);
  // The run repeats the message it was started with, so the copy kept here is no longer needed.
  const isConfirmed = after.asked !== null && state.sending?.run === id;
  return { ...state, runs: state.runs.with(at, after), sending: isConfirmed ? null : state.sending };
}

/** The run that is not over, if there is one; while there is, nothing else can be asked. */
export function activeRun(state: ChatState): RunState | null {
  return state.runs.find((run) => !isOver(run)) ?? null;
}

/** One line of the conversation. */
export type Entry =
  | { kind: 'asked'; id: string; text: string; at: Timestamp; error: Error | null }
  | { kind: 'kept'; id: MessageId; message: Message }
  | { kind: 'run'; id: string; run: RunState };

/** All there is to show. What a run followed here says of itself is more than what is kept of it, so it comes first. */
export function entriesOf(state: ChatState): Entry[] {
  const followed = new Set(state.runs.map(({ run }) => run));
  const repeated = new Set(state.runs.map(({ asked }) => asked?.message));
  const entries: Entry[] = [];
  for (const message of state.history.status === 'ready' ? state.history.messages : []) {
    if (message.role === 'assistant' && message.run && followed.has(message.run)) continue;
    if (!repeated.has(message.id)) entries.push(sameEntry(message, keptEntry));
  }
  for (const run of state.runs) {
    if (run.asked) entries.push(sameEntry(run.asked, (asked) => askedEntry(asked, run.run)));
    else if (state.sending?.run === run.run) entries.push(sameEntry(state.sending, sendingEntry));
    entries.push(sameEntry(run, (it) => ({ kind: 'run', id: it.run, run: it })));
  }
  if (state.sending?.run === null) entries.push(sameEntry(state.sending, sendingEntry));
  return entries;
}

/** What a person said last before an answer. */
export function askedBefore(entries: Entry[], answer: string): string | null {
  const before = entries.slice(
    0,
    entries.findIndex(({ id }) => id === answer),
  );
  const asked = before.findLast((entry) => entry.kind === 'asked');
  return asked?.kind === 'asked' ? asked.text : null;
}

const known = new WeakMap<object, Entry>();

/** The entry for a thing; as long as the thing is the same, so is its entry, and nothing is drawn again. */
function sameEntry<T extends object>(thing: T, make: (thing: T) => Entry): Entry {
  const entry = known.get(thing) ?? make(thing);
  known.set(thing, entry);
  return entry;
}

function keptEntry(message: Message): Entry {
  if (message.role === 'assistant') return { kind: 'kept', id: message.id, message };
  const text = message.parts.map((part) => (part.type === 'text' ? part.text : '')).join('\n');
  return { kind: 'asked', id: message.id, text, at: message.at, error: null };
}

function askedEntry({ message, text, at }: Asked, run: RunId): Entry {
  return { kind: 'asked', id: message ?? `${run}-asked`, text, at, error: null };
}

function sendingEntry({ key, text, at, error }: Sending): Entry {
  return { kind: 'asked', id: key, text, at, error };
}
