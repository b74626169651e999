// What calls left behind: the files that they made, and the whole of outputs that were cut for the model.

import { send } from './client';
import type { CallId, RunId } from './generated/events';

/** The address of a file that is kept here. An address elsewhere would tell its server that it was looked at. */
export function isKept(url: string): boolean {
  return /^\/api\/runs\/[^/?#]+\/files\/[^/?#]+$/.test(url);
}

/** A file, read like everything else: the page's cookie counts only with the page's header, which no `src` sends. */
export async function getFile(url: string, signal?: AbortSignal): Promise<Blob> {
  const response = await send('GET', url, signal ? { signal } : {});
  return response.blob();
}

export interface Piece {
  text: string;
  /** Where to read on; null at the end. */
  next: number | null;
}

/** A part of an output that was cut, from a byte on; characters are never split. */
export async function readOutput(run: RunId, call: CallId, offset: number, limit: number): Promise<Piece> {
  const path = `/api/runs/${run}/calls/${encodeURIComponent(call)}/output?offset=${offset}&limit=${limit}`;
  const response = await send('GET', path);
  const next = response.headers.get('X-Helve-Next-Offset');
  return { text: await response.text(), next: next === null ? null : Number(next) };
}
