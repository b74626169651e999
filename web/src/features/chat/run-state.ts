// A run as the page knows it: a pure fold over what the run says.
//
// Facts carry numbers and say what is finished; live frames show what is being written and are made up for by
// later facts. So however often the connection breaks, the same run ends in the same state.

import type { Frame } from '@/api/frames';
import type {
  Answer,
  CallId,
  CallState as RecordedState,
  Compaction,
  CutOff,
  Ending,
  EventBody,
  Failure,
  Live,
  MessageId,
  Notice,
  PartId,
  Question,
  RunId,
  RunState as Phase,
  Timestamp,
  ToolOutput,
  Trail,
} from '@/api/generated/events';
import { type PaidStep, summaryOf } from './spent';

export interface RunState {
  run: RunId;
  /** The number of the last fact; the next connection asks for what comes after. */
  lastEvent: number;
  phase: Phase;
  asked: Asked | null;
  /** What is finished, in the order of the log. */
  items: Item[];
  /** What is being written. */
  open: OpenPart[];
  end: End | null;
  /** Questions that are about the run and not about a call. */
  questions: Approval[];
  /** Which budget was used up, if one was. */
  budgetSpent: { because: string; notice: Notice | null } | null;
  /** What the model's messages took. */
  steps: PaidStep[];
}

/** What the run was started with. */
export interface Asked {
  at: Timestamp;
  /** The person's message, where the server keeps the conversation. */
  message: MessageId | null;
  reply: MessageId;
  text: string;
  model: string;
}

export type End =
  | { how: 'finished'; ending: Ending }
  | { how: 'failed'; code: string; message: string; notice: Notice | null }
  | { how: 'cancelled'; by: string };

export type Item = Said | BrokenOff | UserInterjection | Shortened | Call;

/** What was read of an answer that broke off. */
export interface BrokenOff {
  kind: 'broken';
  key: string;
  text: string;
  /** Whether it is asked for again, or is all that there will be. */
  now: 'retried' | 'last';
}

/** What a person said while the run was at work. */
export interface UserInterjection {
  kind: 'interjection';
  key: string;
  text: string;
  by: string;
  /** The step that hears it; none while the model has not heard it. */
  step: number | null;
}

/** From here on the model is shown less of the past; people still see all of it. */
export interface Shortened {
  kind: 'shortened';
  key: string;
  /** What stands for the oldest part, if anything does. */
  summary: string | null;
  /** How many outputs are left out, and the sizes of the question before and after. */
  outputs: number;
  tokens: { before: number; after: number };
}

export interface Said {
  kind: 'text' | 'reasoning';
  key: string;
  text: string;
  /** Whether more of it may come. */
  open: boolean;
}

export interface Call {
  kind: 'call';
  /** The same while the call is written and after. */
  key: string;
  step: number;
  /** None while the model is still writing it. */
  call: CallId | null;
  tool: string;
  /** JSON text. */
  input: string;
  state: CallState;
  /** What it reports while it runs. */
  progress: string;
  output: ToolOutput | null;
  failure: Failure | null;
  /** What is known of it if it is unknown whether it happened. */
  cutOff: CutOff | null;
  /** The run of the subagent that works on it. */
  subagent: RunId | null;
  trail: Trail;
  approval: Approval | null;
  /** The client that has it, as it calls itself. */
  claimedBy: string | null;
  startedAt: Timestamp | null;
  endedAt: Timestamp | null;
}

/** How far it has come; `writing` while the model is still writing it. */
export type CallState = 'writing' | RecordedState;

/** The question put to a person about a call. */
export interface Approval {
  question: Question;
  settled: { answer: Answer; by: string } | null;
}

type Answered = Extract<EventBody, { type: 'approval.answered' }>;

interface OpenPart {
  part: PartId;
  kind: 'text' | 'reasoning' | 'input';
  tool: string;
  text: string;
}

export function newRun(run: RunId): RunState {
  return {
    run,
    lastEvent: 0,
    phase: 'running',
    asked: null,
    items: [],
    open: [],
    end: null,
    questions: [],
    budgetSpent: null,
    steps: [],
  };
}

export function applyFrame(state: RunState, frame: Frame): RunState {
  if (frame.kind === 'live') return state.end === null ? applyLive(state, frame.body) : state;
  if (frame.seq <= state.lastEvent) return state;
  return applyFact({ ...state, lastEvent: frame.seq }, frame.body);
}

/** Everything there is to show, finished or not, in order. */
export function itemsOf(state: RunState): Item[] {
  return state.open.length === 0 ? state.items : [...state.items, ...state.open.map(openItem)];
}

/** Whether nothing more will come. */
export function isOver(state: RunState): boolean {
  return state.end !== null;
}

/** Whether the server has stopped taking it up, and asks nothing: a person must say that it shall go on. */
export function isLeftAlone(state: RunState): boolean {
  const asks = state.items.some((item) => item.kind === 'call' && item.approval?.settled === null);
  return state.phase === 'needs_attention' && !asks;
}

/** Whether a call has not come to its end; once its run is over it never will. */
export function isPending(call: Call): boolean {
  return ['writing', 'requested', 'asked', 'approved', 'delegated', 'claimed', 'running'].includes(call.state);
}

function openItem({ part, kind, tool, text }: OpenPart): Item {
  if (kind !== 'input') return { kind, key: part, text, open: true };
  return { ...newCall(part, stepOf(part), tool, text), state: 'writing' };
}

/** Part ids are `step.attempt.n`. */
function stepOf(part: PartId): number {
  return Number.parseInt(part, 10) || 0;
}

function newCall(key: string, step: number, tool: string, input: string): Call {
  return {
    kind: 'call',
    key,
    step,
    call: null,
    tool,
    input,
    state: 'requested',
    progress: '',
    output: null,
    failure: null,
    cutOff: null,
    subagent: null,
    trail: [],
    approval: null,
    claimedBy: null,
    startedAt: null,
    endedAt: null,
  };
}

function applyLive(state: RunState, live: Live): RunState {
  switch (live.type) {
    case 'part.started':
      if (live.kind === 'progress') return change(state, live.part, () => ({ progress: live.text }));
      return { ...state, open: started(state.open, { ...live, kind: live.kind, tool: live.tool ?? '' }) };
    case 'part.delta': {
      const { part, text } = live;
      if (!state.open.some((open) => open.part === part)) {
        return change(state, part, (call) => ({ progress: call.progress + text }));
      }
      const open = state.open.map((one) => (one.part === part ? { ...one, text: one.text + text } : one));
      return { ...state, open };
    }
    case 'step.started': {
      // Parts of an attempt that left no trace in the log are void all the same.
      const attempt = `${live.step}.${live.attempt}.`;
      const open = state.open.filter(({ part }) => part.startsWith(attempt));
      return open.length === state.open.length ? state : { ...breakOff(state), open };
    }
    default:
      return state;
  }
}

function started(open: OpenPart[], { part, kind, tool, text }: OpenPart): OpenPart[] {
  const fresh = { part, kind, tool, text };
  const known = open.findIndex((one) => one.part === part);
  return known < 0 ? [...open, fresh] : open.with(known, fresh);
}

function applyFact(state: RunState, fact: EventBody): RunState {
  switch (fact.type) {
    case 'run.started': {
      const { at, message, reply, text, model } = fact;
      return { ...state, asked: { at, message: message ?? null, reply, text, model } };
    }
    case 'reasoning.finished':
    case 'text.finished': {
      const kind = fact.type === 'text.finished' ? 'text' : 'reasoning';
      return finish(state, fact.part, { kind, key: fact.part, text: fact.text, open: false });
    }
    case 'tool.requested': {
      const { part, step, call, tool, arguments: input, replaces } = fact;
      const item: Call = { ...newCall(part ?? call, step, tool, input), call };
      const old = state.items.findIndex((known) => known.kind === 'call' && known.call === replaces);
      if (replaces && old >= 0) return { ...state, phase: 'running', items: state.items.with(old, item) };
      return finish(state, part ?? null, item);
    }
    case 'tool.started':
      return change(state, fact.call, (call) => ({
        tool: fact.tool,
        input: fact.arguments ?? call.input,
        state: 'running',
        progress: '',
        startedAt: fact.at,
      }));
    case 'tool.delegated':
      return change(state, fact.call, (call) => ({
        tool: fact.tool,
        input: fact.arguments ?? call.input,
        state: 'delegated',
        startedAt: fact.at,
      }));
    case 'tool.claimed': {
      const claimed = { state: 'claimed', claimedBy: fact.client, startedAt: fact.at } as const;
      // It waits for the client as before.
      return { ...change(state, fact.call, () => claimed), phase: state.phase };
    }
    case 'subagent.started':
      return change(state, fact.call, () => ({ state: 'running', subagent: fact.run, startedAt: fact.at }));
    case 'subagent.asked':
      // Several may be asked for one call, and each says which subagent asks.
      return {
        ...change(state, fact.call, () => ({})),
        questions: [...state.questions, { question: fact.question, settled: null }],
      };
    case 'subagent.answered':
      return { ...state, phase: 'running', questions: settle(state.questions, fact) };
    case 'subagent.ended':
      // What it asked and was not answered is withdrawn.
      return {
        ...state,
        questions: state.questions.filter(
          ({ question, settled }) => settled !== null || question.asker?.run !== fact.run,
        ),
      };
    case 'tool.finished':
      return change(state, fact.call, () => ({ ...ended(fact), state: 'finished', output: fact.output }));
    case 'tool.failed':
      return change(state, fact.call, () => ({ ...ended(fact), state: 'failed', failure: fact.failure }));
    case 'tool.refused':
      return change(state, fact.call, () => ({
        ...ended(fact),
        state: fact.failure.kind === 'unanswered' ? 'expired' : 'refused',
        failure: fact.failure,
      }));
    case 'tool.unknown': {
      const { because: message, labels, sent_at, request, checked } = fact;
      const failure: Failure = { kind: 'failed', message, ...(labels ? { labels } : {}) };
      const cutOff: CutOff = { sent_at, request: request ?? null, checked: checked ?? null };
      return change(state, fact.call, () => ({ ...ended({ ...fact, trail: [] }), state: 'unknown', failure, cutOff }));
    }
    case 'approval.asked': {
      const { type: _, at: __, ...question } = fact;
      if (question.kind === 'budget') {
        return { ...state, questions: [...state.questions, { question, settled: null }] };
      }
      const waits = question.kind !== 'outcome';
      return change(state, question.call, (call) => ({
        approval: { question, settled: null },
        state: waits ? 'asked' : call.state,
      }));
    }
    case 'approval.answered':
      if (!fact.call) return { ...state, phase: 'running', questions: settle(state.questions, fact) };
      return change(state, fact.call, (call) => ({
        approval: call.approval && { ...call.approval, settled: { answer: fact.answer, by: fact.by } },
        state: fact.answer.decision === 'approve' ? 'approved' : call.state,
      }));
    case 'budget.spent':
      return { ...state, budgetSpent: { because: fact.because, notice: fact.notice ?? null } };
    case 'message.queued': {
      const { message: key, text, by } = fact;
      return { ...state, items: [...state.items, { kind: 'interjection', key, text, by, step: null }] };
    }
    case 'message.taken':
      return hear(state, fact.message, fact.step);
    case 'history.compacted': {
      const key = `shortened.${state.items.length}`;
      return { ...state, items: [...state.items, shortened(key, fact)], steps: [...state.steps, ...summaryOf(fact)] };
    }
    case 'step.finished': {
      const { step, usage, cost_nanos: cost, model } = fact;
      const paid = { step, model: model ?? state.asked?.model ?? '', usage, cost_nanos: cost ?? null };
      const items = withoutRetried(state.items);
      return { ...state, phase: 'running', items, open: [], steps: [...state.steps, paid] };
    }
    case 'step.restarted':
      return { ...breakOff(state), phase: 'running' };
    case 'text.cut_off': {
      const item: BrokenOff = { kind: 'broken', key: fact.part, text: fact.text, now: 'last' };
      return { ...state, items: [...withoutRetried(state.items), item], open: [] };
    }
    case 'run.waiting':
      return { ...state, phase: fact.state };
    case 'run.resumed':
      return { ...breakOff({ ...state, items: state.items.map(withoutProgress) }), phase: 'running' };
    case 'run.finished':
      return over(state, 'completed', { how: 'finished', ending: fact.ending });
    case 'run.failed':
      return over(asLast(breakOff(state)), 'failed', {
        how: 'failed',
        code: fact.code,
        message: fact.message,
        notice: fact.notice ?? null,
      });
    case 'run.cancelled':
      return over(state, 'cancelled', { how: 'cancelled', by: fact.by });
    case 'tool.late':
      return state;
    default:
      // A newer server may say more than this page understands.
      return state;
  }
}

/** What is being written is void; what was read of it stays until another attempt has replaced it. */
function breakOff(state: RunState): RunState {
  const texts = state.open.filter(({ kind, text }) => kind === 'text' && text.trim() !== '');
  if (texts.length === 0) return { ...state, open: [] };
  const broken = texts.map(({ part, text }): BrokenOff => ({ kind: 'broken', key: part, text, now: 'retried' }));
  return { ...state, items: [...withoutRetried(state.items), ...broken], open: [] };
}

/** Attempts are never joined: of those that broke off the latest is shown. */
function withoutRetried(items: Item[]): Item[] {
  return items.filter((item) => item.kind !== 'broken' || item.now === 'last');
}

function asLast(state: RunState): RunState {
  return { ...state, items: state.items.map((item) => (item.kind === 'broken' ? { ...item, now: 'last' } : item)) };
}

function finish(state: RunState, part: PartId | null, item: Item): RunState {
  const open = state.open.filter((one) => one.part !== part);
  return { ...state, phase: 'running', items: [...state.items, item], open };
}

export function shortened(key: string, { summary, pruned, tokens_before, tokens_after }: Compaction): Shortened {
  const tokens = { before: tokens_before, after: tokens_after };
  return { kind: 'shortened', key, summary: summary?.text ?? null, outputs: pruned?.length ?? 0, tokens };
}

function settle(
  questions: Approval[],
  { approval, answer, by }: Pick<Answered, 'approval' | 'answer' | 'by'>,
): Approval[] {
  const isMeant = ({ question }: Approval) => question.approval === approval;
  return questions.map((one) => (isMeant(one) ? { ...one, settled: { answer, by } } : one));
}

/** The model hears it after everything that it knew before. */
function hear(state: RunState, key: MessageId, step: number): RunState {
  const at = state.items.findIndex((item) => item.kind === 'interjection' && item.key === key);
  const interjection = state.items[at];
  if (interjection?.kind !== 'interjection') return state;
  return { ...state, phase: 'running', items: [...state.items.toSpliced(at, 1), { ...interjection, step }] };
}

function ended({ at, trail }: { at: Timestamp; trail: Trail }): Partial<Call> {
  return { endedAt: at, trail, progress: '' };
}

/** Changes a call; whatever happens to one also says that the run goes on. */
function change(state: RunState, id: string | null | undefined, to: (call: Call) => Partial<Call>): RunState {
  const at = state.items.findIndex((item) => item.kind === 'call' && item.call === id);
  const call = state.items[at];
  if (call?.kind !== 'call') return state;
  return { ...state, phase: 'running', items: state.items.with(at, { ...call, ...to(call) }) };
}

function withoutProgress(item: Item): Item {
  return item.kind === 'call' && item.progress !== '' ? { ...item, progress: '' } : item;
}

function over(state: RunState, phase: Phase, end: End): RunState {
  return { ...state, phase, end, items: withoutRetried(state.items), open: [] };
}
