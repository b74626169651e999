import { request } from './client';
import type { CallId, ConversationId, RunId, RunState } from './generated/events';

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

export function deliverResult(run: RunId, call: CallId, result: ClientResult): Promise<void> {
  return request('POST', `/api/runs/${run}/calls/${encodeURIComponent(call)}/result`, { body: result });
}
