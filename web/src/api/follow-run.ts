// Follows a run to its end over as many connections as it takes.
//
// Events are numbered without gaps, so this side can see that nothing is missing and nothing comes twice: an event
// that was seen is dropped, and a gap ends the connection, which begins again behind the last event seen.

import { delayMs } from '@/lib/backoff';
import { send } from './client';
import { ApiError, isAbort } from './errors';
import { type Frame, isLast } from './frames';
import type { EventBody, Live, RunId } from './generated/events';
import { pause } from './reachability';
import { SseReader } from './sse';

/** The server sends a comment every 15 seconds; a connection as silent as this is dead. */
const SILENCE_MS = 40_000;

export interface Following {
  run: RunId;
  /** The last event already known. */
  after: number;
  signal: AbortSignal;
  onFrame: (frame: Frame) => void;
  /** Whether frames are coming, or a connection is being tried. */
  onLink: (link: Link) => void;
}

export type Link = 'live' | 'lost';

/** Resolves when the run is over or the signal stops it; throws what trying again cannot mend. */
export async function followRun(following: Following): Promise<void> {
  const { signal, onLink } = following;
  const cursor: Cursor = { seq: following.after, heard: false, over: false };
  for (let failures = 0; !signal.aborted; failures += 1) {
    cursor.heard = false;
    try {
      await connect(following, cursor);
    } catch (error) {
      if (signal.aborted || isAbort(error)) return;
      if (error instanceof ApiError && !isPassing(error)) throw error;
    }
    if (cursor.over || signal.aborted) return;
    onLink('lost');
    if (cursor.heard) failures = 0;
    await pause(delayMs(failures), signal);
  }
}

function isPassing(error: ApiError): boolean {
  return error.status >= 500 || error.status === 429 || error.status === 408;
}

interface Cursor {
  /** The last event seen. */
  seq: number;
  /** Whether this connection brought anything. */
  heard: boolean;
  over: boolean;
}

async function connect(following: Following, cursor: Cursor): Promise<void> {
  const { run, signal, onFrame, onLink } = following;
  const silence = new AbortController();
  const response = await send('GET', `/api/runs/${run}/events`, {
    headers: { Accept: 'text/event-stream', 'Last-Event-ID': String(cursor.seq) },
    signal: AbortSignal.any([signal, silence.signal]),
  });
  if (response.status === 204 || response.body === null) {
    cursor.over = true;
    return;
  }
  onLink('live');
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  const sse = new SseReader();
  try {
    for (;;) {
      const { done, value } = await within(SILENCE_MS, reader.read());
      if (done) return;
      for (const message of sse.push(value)) {
        cursor.heard = true;
        const frame = frameOf(message.id, message.data);
        if (frame.kind === 'event') {
          if (frame.seq <= cursor.seq) continue;
          if (frame.seq > cursor.seq + 1) return;
          cursor.seq = frame.seq;
        }
        onFrame(frame);
        if (isLast(frame)) {
          cursor.over = true;
          return;
        }
      }
    }
  } finally {
    silence.abort();
  }
}

function frameOf(id: string | null, data: string): Frame {
  const body: unknown = JSON.parse(data);
  return id === null
    ? { kind: 'live', body: body as Live }
    : { kind: 'event', seq: Number(id), body: body as EventBody };
}

function within<T>(ms: number, work: Promise<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => reject(new Error('the stream fell silent')), ms);
    work.then(resolve, reject).finally(() => clearTimeout(timer));
  });
}
