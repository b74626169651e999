// The one way to the server: every request of the page goes through here.

import { observeServerDate } from '@/lib/server-clock';
import { ApiError, type Problem, Unreachable, isAbort } from './errors';
import { noteAnswer, noteSilence } from './reachability';

/** A cookie counts only together with this header, which no foreign page can send. */
const PAGE_HEADER = { 'X-Helve-Page': '1' };

export interface Options {
  body?: unknown;
  headers?: Record<string, string>;
  signal?: AbortSignal;
}

const unauthorized = new Set<() => void>();

/** Hears when the server no longer knows who we are. */
export function onUnauthorized(listener: () => void): () => void {
  unauthorized.add(listener);
  return () => unauthorized.delete(listener);
}

/** Sends a request and returns the answer, of which only the head has been read. */
export async function send(method: string, path: string, options: Options = {}): Promise<Response> {
  const headers: Record<string, string> = { ...PAGE_HEADER, ...options.headers };
  const init: RequestInit = { method, headers, cache: 'no-store', signal: options.signal ?? null };
  if (options.body !== undefined) {
    headers['Content-Type'] = 'application/json';
    init.body = JSON.stringify(options.body);
  }
  let response: Response;
  try {
    response = await fetch(path, init);
  } catch (error) {
    if (isAbort(error)) throw error;
    noteSilence();
    throw new Unreachable(error);
  }
  noteAnswer();
  observeServerDate(response.headers.get('Date'));
  if (response.ok) return response;
  if (response.status === 401) for (const listener of unauthorized) listener();
  throw new ApiError(response.status, await problemOf(response));
}

/** Sends a request and reads the JSON of the answer. */
export async function request<T>(method: string, path: string, options: Options = {}): Promise<T> {
  const response = await send(method, path, options);
  const text = await response.text();
  return (text === '' ? undefined : JSON.parse(text)) as T;
}

async function problemOf(response: Response): Promise<Problem> {
  const fallback: Problem = { title: response.statusText || `HTTP ${response.status}` };
  try {
    const body: unknown = await response.json();
    return typeof body === 'object' && body !== null ? { ...fallback, ...body } : fallback;
  } catch {
    return fallback;
  }
}
