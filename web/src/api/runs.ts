import { request } from './client';
import type { CallId, ConversationId, MessageId, RunId, RunState } from './generated/events';

/** A tool that the client runs itself, as OpenAI declares functions. */
export interface ToolDeclaration {
  type: 'function';
  function: { name: string; description: string; parameters: object };
}

export interface NewRun {
  message: string;
  conversation?: ConversationId;
  model?: string;
  variant?: string;
  agent?: string;
  tools?: ToolDeclaration[];
}

export interface Run {
  run: RunId;
  conversation?: ConversationId;
  state: RunState;
}

/** Starts a run. The same key finds the same run, so that a request whose answer was lost can be sent again. */
export function startRun(run: NewRun, key: string): Promise<{ run: RunId; conversation: ConversationId }> {
  return request('POST', '/api/runs', { body: run, headers: { 'Idempotency-Key': key } });
}

/** Says something to a run that is at work. The same id is the same message, so that it can be sent again. */
export function sayToRun(run: RunId, text: string, id: MessageId): Promise<{ message: MessageId }> {
  return request('POST', `/api/runs/${run}/messages`, { body: { text, id } });
}

export function getRun(run: RunId): Promise<Run> {
  return request('GET', `/api/runs/${run}`);
}

export function cancelRun(run: RunId): Promise<void> {
  return request('POST', `/api/runs/${run}/cancel`, { body: {} });
}

/** Takes up a run that was left alone. */
export function resumeRun(run: RunId): Promise<void> {
  return request('POST', `/api/runs/${run}/resume`, { body: {} });
}

export type ClientResult = { result: unknown } | { error: string };

/** What the client that has a call is given. */
export interface Claim {
  /** The result counts only with it. */
  result_token: string;
  /** A client that is silent for this long loses the call. */
  lease_ms: number;
  tool: string;
  /** JSON text. */
  arguments: string;
}

/** Takes a call, or keeps it: the same client gets the same again, and is heard. */
export function claimCall(run: RunId, call: CallId, client: string): Promise<Claim> {
  return request('POST', `/api/runs/${run}/calls/${encodeURIComponent(call)}/claim`, { body: { client } });
}

export function deliverResult(run: RunId, call: CallId, token: string, result: ClientResult): Promise<void> {
  const body = { ...result, result_token: token };
  return request('POST', `/api/runs/${run}/calls/${encodeURIComponent(call)}/result`, { body });
}
