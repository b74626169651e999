// One run of the mock: says its beats word by word, waits for people, and can be interrupted as by a crash.

import { FakeFeed, Reader } from '../../src/features/chat/fake-feed';
import type { Frame } from '../../src/api/frames';
import type { Answer, Question } from '../../src/api/generated/events';
import { answer as answerOf, execute, script } from './demo';

export interface Pending {
  question: Question;
  settle: (answer: Answer, by: string) => void;
}

type Outcome = { text: string; isError: boolean };

/** Thrown at whatever is waiting when the server "crashes". */
class Crashed extends Error {}
class Cancelled extends Error {}

const usage = { input_tokens: 12, output_tokens: 34, cached_tokens: 8 };

/** What is known of a call that was cut off. */
const BROKEN = 'the connection broke after the request was sent';
const CUT_OFF = { request: 'POST https://mail.example.org/send', checked: 'one mail in the outbox' };

/** What a step costs. */
const COST = 1_200_000;

export class MockRun {
  readonly feed = new FakeFeed(Date.now);
  readonly pending = new Map<string, Pending>();
  readonly delegated = new Map<string, (outcome: Outcome) => void>();
  /** The window that has a call. */
  readonly #claimed = new Map<string, string>();
  readonly #inputs = new Map<string, string>();
  state = 'running';
  #listeners = new Set<() => void>();
  #stop: ((error: Error) => void) | null = null;
  #isCancelled = false;

  constructor(
    readonly id: string,
    readonly text: string,
    readonly ids: { conversation: string; message: string; reply: string; model: string },
    readonly pace: number,
    readonly onEnd: () => void,
  ) {
    const { conversation, message, reply, model } = ids;
    this.feed.record({ type: 'run.started', agent: 'helve', model, conversation, message, reply, text });
    void this.#drive();
  }

  get isOver(): boolean {
    return ['completed', 'failed', 'cancelled'].includes(this.state);
  }

  /** Gives frames to a reader until the run is over or the reader leaves. */
  follow(after: number, give: (frames: Frame[], isOver: boolean) => void): () => void {
    const reader = new Reader(after);
    const look = () => give(this.feed.read(reader), this.isOver);
    this.#listeners.add(look);
    look();
    return () => this.#listeners.delete(look);
  }

  /** What a window has to run, or why it does not get it. */
  claim(call: string, client: string): string | 'taken' | null {
    const input = this.#inputs.get(call);
    if (input === undefined || !this.delegated.has(call)) return null;
    const holder = this.#claimed.get(call);
    if (holder !== undefined) return holder === client ? input : 'taken';
    this.#claimed.set(call, client);
    this.feed.record({ type: 'tool.claimed', call, client, by: 'local' });
    this.#tell();
    return input;
  }

  cancel(): void {
    this.#isCancelled = true;
    this.#stop?.(new Cancelled());
  }

  crash(): void {
    this.#stop?.(new Crashed());
  }

  async #drive(): Promise<void> {
    try {
      const calls = await this.#say(1, script(this.text));
      if (calls.length > 0) {
        const results = await Promise.all(calls.map((call) => this.#call(call)));
        await this.#say(2, [{ say: answerOf(results) }]);
      }
      this.#end('completed', { type: 'run.finished', ending: 'answered' });
    } catch (error) {
      if (error instanceof Cancelled) this.#end('cancelled', { type: 'run.cancelled', by: 'local' });
      else this.#fail((error as Error).message);
    }
  }

  /** What was read of the answer stays. */
  #fail(message: string): void {
    for (const { part, kind, text } of this.feed.open)
      if (kind === 'text') this.feed.record({ type: 'text.cut_off', step: 1, part, text });
    this.#end('failed', { type: 'run.failed', code: 'model_unavailable', message });
  }

  #end(state: string, fact: Parameters<FakeFeed['record']>[0]): void {
    this.state = state;
    this.pending.clear();
    this.delegated.clear();
    this.feed.record(fact);
    this.onEnd();
    this.#tell();
  }

  /** Says the beats of a step; after a crash the step begins again. */
  async #say(step: number, beats: ReturnType<typeof script>) {
    for (let attempt = 1; ; attempt += 1) {
      this.feed.step(step, attempt);
      try {
        for (const [n, beat] of beats.entries()) await this.#beat(`${step}.${attempt}.${n}`, beat);
      } catch (error) {
        if (!(error instanceof Crashed)) throw error;
        this.feed.record(
          { type: 'run.resumed', resume: attempt },
          { type: 'step.restarted', step, attempt: attempt + 1, because: 'the server stopped' },
        );
        continue;
      }
      return this.#finishStep(step, attempt, beats);
    }
  }

  async #beat(part: string, beat: ReturnType<typeof script>[number]): Promise<void> {
    if ('call' in beat && beat.call === 'break_run')
      throw new Error('the model server at http://127.0.0.1:11434 cannot be reached');
    const [kind, text, tool] =
      'think' in beat
        ? (['reasoning', beat.think] as const)
        : 'say' in beat
          ? (['text', beat.say] as const)
          : (['input', JSON.stringify(beat.input), beat.call] as const);
    for (const piece of text.match(/\S+\s*|\s+/g) ?? []) {
      this.feed.write(part, kind, piece, tool ?? null);
      this.#tell();
      await this.#sleep(this.pace);
    }
  }

  #finishStep(step: number, attempt: number, beats: ReturnType<typeof script>) {
    const calls: { call: string; tool: string; input: Record<string, unknown> }[] = [];
    beats.forEach((beat, n) => {
      const part = `${step}.${attempt}.${n}`;
      if ('think' in beat) this.feed.record({ type: 'reasoning.finished', step, part, text: beat.think });
      if ('say' in beat) this.feed.record({ type: 'text.finished', step, part, text: beat.say });
    });
    beats.forEach((beat, n) => {
      if (!('call' in beat)) return;
      const call = `${this.id}:${step}:${calls.length}`;
      calls.push({ call, tool: beat.call, input: beat.input });
      this.feed.record({
        type: 'tool.requested',
        step,
        call,
        tool: beat.call,
        arguments: JSON.stringify(beat.input),
        part: `${step}.${attempt}.${n}`,
      });
    });
    const reason = calls.length > 0 ? 'tool_calls' : 'stop';
    this.feed.record({ type: 'step.finished', step, attempt, reason, mode: 'native', usage, cost_nanos: COST });
    this.#tell();
    return calls;
  }

  async #call({ call, tool, input }: { call: string; tool: string; input: Record<string, unknown> }) {
    const outcome = await this.#outcome(call, tool, input);
    return { tool, input, ...outcome };
  }

  async #outcome(call: string, tool: string, input: Record<string, unknown>): Promise<Outcome> {
    if (tool === 'browser_js_eval') return this.#delegate(call, tool, JSON.stringify(input));
    if (tool === 'save_note') {
      const answer = await this.#ask(call, tool, input, 'permission');
      if (answer.decision === 'reject') return this.#refuse(call, answer.reason ?? 'a person said no');
      if (answer.decision === 'respond')
        return this.#finish(call, tool, { title: 'answered by a person', text: answer.text });
    }
    this.feed.record({
      type: 'tool.started',
      call,
      tool,
      version: '1',
      effect: tool === 'save_note' ? 'non_idempotent' : 'read',
      attempt: 1,
    });
    this.#tell();
    if (tool === 'build') {
      for (let percent = 10; percent <= 100; percent += 10) {
        this.feed.write(call, 'progress', `compiled ${percent} %\n`, tool);
        this.#tell();
        await this.#sleep(this.pace * 10);
      }
    }
    if (tool === 'send_mail') {
      this.feed.record({ type: 'tool.unknown', call, because: BROKEN, ...CUT_OFF, sent_at: Date.now() });
      const answer = await this.#ask(call, tool, input, 'outcome');
      return { text: answer.decision === 'outcome' ? `a person says: ${answer.answer}` : 'unknown', isError: false };
    }
    await this.#sleep(this.pace * 5);
    return this.#finish(call, tool, execute(tool, input));
  }

  #finish(call: string, tool: string, { title, text }: { title: string; text: string }): Outcome {
    const isRepeated = this.feed.log.some((fact) => fact.type === 'tool.finished' && fact.output.title === title);
    const trail = [
      { stage: 'resolve', tool },
      { stage: 'check' },
      { stage: 'judge', verdict: 'allow', rule: 'built-in tools that read' },
      { stage: 'cache', found: isRepeated ? 'shared' : 'miss' },
      { stage: 'limit', waited_ms: 0 },
      { stage: 'breaker', state: 'closed' },
      { stage: 'run', attempt: 1, ms: 3 },
    ] as const;
    this.feed.record({ type: 'tool.finished', call, output: { title, text }, trail: [...trail] });
    this.#tell();
    return { text, isError: false };
  }

  #refuse(call: string, message: string): Outcome {
    this.feed.record({ type: 'tool.refused', call, failure: { kind: 'denied', message }, trail: [] });
    this.#tell();
    return { text: message, isError: true };
  }

  #delegate(call: string, tool: string, input: string): Promise<Outcome> {
    this.#inputs.set(call, input);
    this.feed.record({ type: 'tool.delegated', call, tool, arguments: input });
    const delivered = this.#until<Outcome>((resolve) => {
      this.delegated.set(call, (outcome) => {
        this.delegated.delete(call);
        this.state = 'running';
        if (outcome.isError)
          this.feed.record({
            type: 'tool.failed',
            call,
            failure: { kind: 'failed', message: outcome.text },
            trail: [],
          });
        else this.#finish(call, tool, { title: '', text: outcome.text });
        this.#tell();
        resolve(outcome);
      });
    });
    this.#wait('waiting_client');
    return delivered;
  }

  async #ask(
    call: string,
    tool: string,
    input: Record<string, unknown>,
    kind: 'permission' | 'outcome',
  ): Promise<Answer> {
    const question: Question = {
      approval: `approval-${call}`,
      call,
      kind,
      tool,
      arguments: JSON.stringify(input),
      effect: 'non_idempotent',
      because: kind === 'permission' ? 'it changes something and cannot be taken back' : BROKEN,
      ...(kind === 'outcome' ? { ...CUT_OFF, sent_at: Date.now() } : {}),
      binding: 'sha256:0',
      expires_at: Date.now() + 7 * 86_400_000,
    };
    this.feed.record({ type: 'approval.asked', ...question });
    this.#wait(kind === 'permission' ? 'waiting_approval' : 'needs_attention');
    return this.#until<Answer>((resolve) => {
      const settle = (answer: Answer, by: string) => {
        this.pending.delete(question.approval);
        this.state = 'running';
        this.feed.record({ type: 'approval.answered', approval: question.approval, call, answer, by });
        this.#tell();
        resolve(answer);
      };
      this.pending.set(question.approval, { question, settle });
    });
  }

  #wait(state: 'waiting_client' | 'waiting_approval' | 'needs_attention'): void {
    this.state = state;
    this.feed.record({ type: 'run.waiting', state });
    this.#tell();
  }

  #tell(): void {
    for (const listener of this.#listeners) listener();
  }

  async #sleep(ms: number): Promise<void> {
    if (this.#isCancelled) throw new Cancelled();
    if (ms === 0) return;
    await this.#until<void>((resolve) => setTimeout(resolve, ms));
  }

  /** Waits for something, or for the end of everything. */
  #until<T>(begin: (resolve: (value: T) => void) => void): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      const before = this.#stop;
      this.#stop = (error) => {
        before?.(error);
        reject(error);
      };
      begin(resolve);
    });
  }
}
