// What the mock server knows: conversations, runs and approvals, all in memory.

import { randomUUID } from 'node:crypto';
import type { Answer, Message, Part } from '../../src/api/generated/events';
import { applyFrame, itemsOf, newRun } from '../../src/features/chat/run-state';
import { MockRun } from './run';

/** Why a request is refused, as a problem document will say it. */
export class Problem extends Error {
  constructor(
    readonly status: number,
    readonly code: string,
    detail: string,
    readonly more: object = {},
  ) {
    super(detail);
  }
}

interface Conversation {
  id: string;
  title: string;
  created_at: number;
  updated_at: number;
  messages: Message[];
  run: MockRun | null;
}

interface Wanted {
  message?: unknown;
  conversation?: unknown;
  model?: unknown;
}

export class World {
  readonly #conversations = new Map<string, Conversation>();
  readonly #runs = new Map<string, MockRun>();
  readonly #started = new Map<string, { run: string; conversation: string }>();
  readonly #answered = new Map<string, { answer: Answer; by: string }>();

  /** @param pace Milliseconds a word takes. */
  constructor(readonly pace: number) {}

  begin(wanted: Wanted, key: string): { run: string; conversation: string } {
    const known = this.#started.get(key);
    if (known) return known;
    const text = String(wanted.message ?? '');
    const model = String(wanted.model ?? 'demo');
    if (model === 'no-such-model') throw new Problem(400, 'unknown_model', 'there is no model `no-such-model`');
    const conversation =
      wanted.conversation === undefined ? this.#newConversation(text) : this.#conversation(String(wanted.conversation));
    refuseIfBusy(conversation);
    const message: Message = {
      id: randomUUID(),
      role: 'user',
      at: Date.now(),
      parts: [{ type: 'text', step: 0, text }],
    };
    conversation.messages.push(message);
    conversation.updated_at = message.at;
    const ids = { conversation: conversation.id, message: message.id, reply: randomUUID(), model };
    const run = new MockRun(randomUUID(), text, ids, this.pace, () => {
      conversation.updated_at = Date.now();
      conversation.messages.push(keptMessage(run));
    });
    conversation.run = run;
    this.#runs.set(run.id, run);
    const answer = { run: run.id, conversation: conversation.id };
    this.#started.set(key, answer);
    return answer;
  }

  run(id: string): MockRun {
    return found(this.#runs.get(id));
  }

  /** The running ones lose their process and go on with the next. */
  crash(): void {
    for (const run of this.#runs.values()) run.crash();
  }

  list(offset: number, limit: number): object[] {
    const all = [...this.#conversations.values()].toSorted((a, b) => b.updated_at - a.updated_at);
    return all.slice(offset, offset + limit).map(view);
  }

  show(id: string): object {
    return view(this.#conversation(id));
  }

  messages(id: string): Message[] {
    return this.#conversation(id).messages;
  }

  rename(id: string, title: string): void {
    this.#conversation(id).title = title;
  }

  remove(id: string): void {
    refuseIfBusy(this.#conversation(id));
    this.#conversations.delete(id);
  }

  pending(): object[] {
    return [...this.#runs.values()].flatMap((run) =>
      [...run.pending.values()].map(({ question }) => {
        return { ...question, run: run.id, user: 'local', asked_at: Date.now(), state: 'pending' };
      }),
    );
  }

  approval(id: string): object {
    return { approval: id, state: 'answered', ...found(this.#answered.get(id)) };
  }

  /** Settles a question; the first answer wins. */
  settle(id: string, answer: Answer): void {
    const before = this.#answered.get(id);
    if (before && JSON.stringify(before.answer) === JSON.stringify(answer)) return;
    if (before) throw new Problem(409, 'approval_answered', 'somebody answered first');
    const pending = found([...this.#runs.values()].map((run) => run.pending.get(id)).find(Boolean));
    // As the server checks edited arguments against the schema.
    if ('arguments' in answer && answer.arguments && JSON.parse(answer.arguments).text === undefined) {
      const wrong = 'the edited arguments cannot be sent, so the question stays open: "text" is a required property';
      throw new Problem(422, 'bad_arguments', wrong);
    }
    // A test that answers from a second window says so.
    const by = 'reason' in answer && answer.reason === 'from another window' ? 'mei' : 'local';
    this.#answered.set(id, { answer, by });
    pending.settle(answer, by);
  }

  /** Gives a call to the first window that asks for it. */
  claim(run: string, call: string, { client }: Record<string, unknown>): object {
    const input = this.run(run).claim(call, String(client));
    if (input === null) throw new Problem(409, 'call_not_waiting', 'this call does not wait for a client');
    if (input === 'taken') throw new Problem(409, 'claimed_elsewhere', 'another client has claimed this call');
    return { result_token: `token-${call}`, lease_ms: 60_000, tool: 'browser_js_eval', arguments: input };
  }

  deliver(run: string, call: string, body: Record<string, unknown>): void {
    const give = this.run(run).delegated.get(call);
    if (!give) throw new Problem(409, 'call_not_waiting', 'this call does not wait for a result');
    if (body.result_token !== `token-${call}`) throw new Problem(403, 'result_token_wrong', 'claim the call first');
    if (typeof body.error === 'string') give({ text: body.error, isError: true });
    else give({ text: JSON.stringify(body.result), isError: false });
  }

  #newConversation(text: string): Conversation {
    const now = Date.now();
    const id = randomUUID();
    const fresh = { id, title: text.slice(0, 60), created_at: now, updated_at: now, messages: [], run: null };
    this.#conversations.set(id, fresh);
    return fresh;
  }

  #conversation(id: string): Conversation {
    return found(this.#conversations.get(id));
  }
}

function found<T>(thing: T | undefined): T {
  if (thing === undefined) throw new Problem(404, 'not_found', 'there is no such thing');
  return thing;
}

function refuseIfBusy({ run }: Conversation): void {
  if (run && !run.isOver) throw new Problem(409, 'conversation_busy', 'a run of it is not over', { run: run.id });
}

function view({ messages, run, ...rest }: Conversation): object {
  return { ...rest, messages: messages.length, ...(run && !run.isOver && { active_run: run.id }) };
}

/** What is kept of a run that is over. */
function keptMessage(run: MockRun): Message {
  const frames = run.feed.log.map((body, index) => ({ kind: 'event', seq: index + 1, body }) as const);
  const state = frames.reduce(applyFrame, newRun(run.id));
  const parts = itemsOf(state).map((item): Part => {
    if (item.kind === 'spoken') {
      return { type: 'said', step: item.step, message: item.key, text: item.text, by: item.by };
    }
    if (item.kind === 'shortened') {
      const { before, after } = item.tokens;
      return { type: 'compacted', step: 1, tokens_before: before, tokens_after: after };
    }
    if (item.kind === 'broken') return { type: 'cut_off', step: 1, text: item.text };
    if (item.kind !== 'call') return { type: item.kind, step: 1, text: item.text };
    const { call, tool, input, step, output, failure, startedAt, endedAt } = item;
    const kept = item.state === 'done' ? 'completed' : item.state === 'unknown' ? 'unknown' : 'error';
    const times = { requested_at: 0, started_at: startedAt, ended_at: endedAt };
    return { type: 'tool', step, call: call ?? '', tool, input, state: kept, output, failure, ...times };
  });
  if (state.end?.how === 'failed') parts.push({ type: 'notice', text: state.end.message, code: state.end.code });
  if (state.end?.how === 'cancelled')
    parts.push({ type: 'notice', text: 'stopped', code: 'cancelled', by: state.end.by });
  const { id, ids } = run;
  const { asked, steps } = state;
  return { id: ids.reply, role: 'assistant', at: asked?.at ?? 0, run: id, model: ids.model, parts, steps };
}
