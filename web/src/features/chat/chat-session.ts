// One open conversation: loads it, sends messages, follows runs. The state is changed only by `changeChat`.

import { type Conversation, getConversation, getMessages } from '@/api/conversations';
import { ApiError } from '@/api/errors';
import { followRun } from '@/api/follow-run';
import { type Frame, isLast } from '@/api/frames';
import type { CallId, ConversationId, RunId } from '@/api/generated/events';
import {
  type Claim,
  type ClientResult,
  type NewRun,
  cancelRun,
  claimCall,
  deliverResult,
  resumeRun,
  sayToRun,
  startRun,
} from '@/api/runs';
import { clientId } from '@/lib/client-id';
import { FrameBatch } from '@/lib/frame-batch';
import { randomId } from '@/lib/random-id';
import { serverNow } from '@/lib/server-clock';
import { type Action, type ChatState, activeRun, changeChat, entriesOf, newChat } from './chat-state';
import { CLIENT_TOOLS } from './client-tools';
import { type RunState, applyFrame, newRun } from './run-state';

/** What others may want to know. */
export interface Listener {
  /** The first message made a conversation. */
  onCreated: (id: ConversationId) => void;
  /** A run began or ended. */
  onRun: () => void;
  /** A question was asked or answered. */
  onApproval: () => void;
}

export type Choice = Pick<NewRun, 'model' | 'variant' | 'agent'>;

export class ChatSession {
  conversation: ConversationId | null;
  #state: ChatState;
  #listener: Listener;
  #subscribers = new Set<() => void>();
  #batch = new FrameBatch(() => this.#notify());
  #closed = new AbortController();
  #following = new Set<RunId>();
  #loadedRuns = new Map<RunId, Promise<RunState>>();

  constructor(conversation: ConversationId | null, listener: Listener) {
    this.conversation = conversation;
    this.#listener = listener;
    this.#state = newChat(conversation === null);
  }

  /** Begins to follow, or goes on after `close`. */
  open(): void {
    this.#closed = new AbortController();
    if (this.#state.history.status !== 'ready') void this.load();
    const run = activeRun(this.#state);
    if (run !== null) this.#follow(run.run);
  }

  getState = (): ChatState => this.#state;

  subscribe = (subscriber: () => void): (() => void) => {
    this.#subscribers.add(subscriber);
    return () => this.#subscribers.delete(subscriber);
  };

  /** Runs go on without us. */
  close(): void {
    this.#closed.abort();
    this.#batch.cancel();
    this.#following.clear();
  }

  /** Reads what is kept, then follows the run that is not over. */
  async load(): Promise<void> {
    const id = this.conversation;
    if (id === null) return;
    if (this.#state.history.status !== 'ready') this.#change({ type: 'history', history: { status: 'loading' } });
    try {
      // In this order: a run that ends in between is followed all the same, and its answer is not missed.
      const { active_run: active } = await getConversation(id);
      const messages = await getMessages(id);
      this.#change({ type: 'history', history: { status: 'ready', messages }, active: active ?? null });
      if (active) this.#follow(active);
    } catch (error) {
      if (this.#state.history.status === 'ready') return;
      this.#change({ type: 'history', history: { status: 'failed', error: asError(error) } });
    }
  }

  /** Another window may have gone on with the conversation. */
  async refresh(): Promise<void> {
    if (this.conversation === null || activeRun(this.#state) !== null) return;
    let found: Conversation;
    try {
      found = await getConversation(this.conversation);
    } catch {
      // Another request reports it.
      return;
    }
    if (this.#state.history.status !== 'ready') return void this.load();
    const isKnown = this.#state.runs.some(({ run }) => run === found.active_run);
    if ((found.active_run && !isKnown) || found.messages > entriesOf(this.#state).length) await this.load();
  }

  async send(text: string, choice: Choice): Promise<void> {
    this.#change({ type: 'send', key: randomId(), text, at: serverNow() });
    await this.#startRun(choice);
  }

  /** Says something to the run that is at work; if it ends meanwhile, the message starts the next one. */
  async sendMessage(text: string, choice: Choice): Promise<void> {
    this.#change({ type: 'send', key: randomId(), text, at: serverNow() });
    await this.#sendToRun(choice);
  }

  /** Sends the message that was not sent. Where no answer came the key is the same, so that it cannot arrive twice. */
  async sendAgain(choice: Choice): Promise<void> {
    const { sending } = this.#state;
    if (sending === null) return;
    const key = sending.error instanceof ApiError ? randomId() : sending.key;
    this.#change({ type: 'send', key, text: sending.text, at: serverNow() });
    await this.#sendToRun(choice);
  }

  discard(): void {
    this.#change({ type: 'discard' });
  }

  async #sendToRun(choice: Choice): Promise<void> {
    const run = activeRun(this.#state)?.run;
    const { sending } = this.#state;
    if (run === undefined || sending === null) return this.#startRun(choice);
    try {
      await sayToRun(run, sending.text, sending.key);
      // From here on it is the run that shows it.
      this.#change({ type: 'discard' });
    } catch (error) {
      if (error instanceof ApiError && error.code === 'run_over') return this.#startRun(choice);
      this.#change({ type: 'not-sent', error: asError(error) });
    }
  }

  async #startRun(choice: Choice): Promise<void> {
    const { sending } = this.#state;
    if (sending === null) return;
    const where = this.conversation === null ? {} : { conversation: this.conversation };
    try {
      const request = { message: sending.text, ...where, ...choice, tools: CLIENT_TOOLS };
      const { run, conversation } = await startRun(request, sending.key);
      if (this.#closed.signal.aborted) return;
      this.#change({ type: 'sent', run });
      if (this.conversation === null) {
        this.conversation = conversation;
        this.#listener.onCreated(conversation);
      }
      this.#follow(run);
    } catch (error) {
      this.#change({ type: 'not-sent', error: asError(error) });
      if (error instanceof ApiError && error.code === 'conversation_busy' && error.problem.run) {
        this.#follow(error.problem.run);
      }
    }
  }

  async cancel(): Promise<void> {
    const run = activeRun(this.#state);
    if (run !== null) await cancelRun(run.run);
  }

  async resume(): Promise<void> {
    const run = activeRun(this.#state);
    if (run !== null) await resumeRun(run.run);
  }

  claim(run: RunId, call: CallId): Promise<Claim> {
    return claimCall(run, call, clientId());
  }

  deliver(run: RunId, call: CallId, token: string, result: ClientResult): Promise<void> {
    return deliverResult(run, call, token, result);
  }

  /** All that a run said, from its log. */
  loadRun(run: RunId): Promise<RunState> {
    const known = this.#loadedRuns.get(run) ?? readLog(run, this.#closed.signal);
    this.#loadedRuns.set(run, known);
    known.catch(() => this.#loadedRuns.delete(run));
    return known;
  }

  /** Tries once more to follow what could not be followed, from its beginning. */
  retry(): void {
    const run = activeRun(this.#state)?.run;
    if (run === undefined) return;
    this.#change({ type: 'forget', run });
    this.#follow(run);
  }

  #follow(run: RunId): void {
    this.#change({ type: 'follow', run });
    if (this.#following.has(run)) return;
    this.#following.add(run);
    this.#listener.onRun();
    const after = this.#state.runs.find((known) => known.run === run)?.lastEvent ?? 0;
    const signal = this.#closed.signal;
    followRun({
      run,
      after,
      signal,
      onLink: (link) => this.#change({ type: 'link', link }),
      onFrame: (frame) => {
        if (signal.aborted) return;
        this.#change({ type: 'frame', run, frame });
        if (isLast(frame)) this.#listener.onRun();
        if (frame.kind === 'event' && frame.body.type.startsWith('approval.')) this.#listener.onApproval();
      },
    })
      .catch((error: unknown) => !signal.aborted && this.#change({ type: 'failed', error: asError(error) }))
      .finally(() => {
        if (signal.aborted) return;
        this.#following.delete(run);
        this.#change({ type: 'link', link: 'live' });
      });
  }

  #change(action: Action): void {
    if (this.#closed.signal.aborted) return;
    this.#state = changeChat(this.#state, action);
    // A run may say more than the screen can show; it is shown once for each frame that is drawn.
    if (action.type === 'frame') this.#batch.request();
    else this.#notify();
  }

  #notify(): void {
    this.#batch.cancel();
    for (const subscriber of this.#subscribers) subscriber();
  }
}

async function readLog(run: RunId, signal: AbortSignal): Promise<RunState> {
  let state = newRun(run);
  const onFrame = (frame: Frame) => {
    state = applyFrame(state, frame);
  };
  await followRun({ run, after: 0, signal, onFrame, onLink: () => {} });
  return state;
}

function asError(error: unknown): Error {
  return error instanceof Error ? error : new Error(String(error));
}
