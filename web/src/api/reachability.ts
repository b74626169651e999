// Whether the server answers. Every request reports here; while it does not answer, it is asked now and then.

import { delayMs } from '@/lib/backoff';

export type Reach = 'up' | 'down';

let reach: Reach = 'up';
let probing = false;
const listeners = new Set<() => void>();

export function getReach(): Reach {
  return reach;
}

export function subscribeReach(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

export function noteAnswer(): void {
  set('up');
}

export function noteSilence(): void {
  set('down');
  if (!probing) void probe();
}

function set(next: Reach): void {
  if (reach === next) return;
  reach = next;
  for (const listener of listeners) listener();
}

async function probe(): Promise<void> {
  probing = true;
  for (let attempt = 0; getReach() === 'down'; attempt += 1) {
    await pause(delayMs(attempt));
    try {
      await fetch('/healthz', { cache: 'no-store', headers: { 'X-Helve-Page': '1' } });
      noteAnswer();
    } catch {
      // The server still does not answer.
    }
  }
  probing = false;
}

/** Waits, but not longer than until the browser says that the network or the person is back. */
export function pause(ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const done = () => {
      clearTimeout(timer);
      window.removeEventListener('online', done);
      document.removeEventListener('visibilitychange', seen);
      signal?.removeEventListener('abort', done);
      resolve();
    };
    const seen = () => {
      if (document.visibilityState === 'visible') done();
    };
    const timer = setTimeout(done, ms);
    window.addEventListener('online', done);
    document.addEventListener('visibilitychange', seen);
    signal?.addEventListener('abort', done);
  });
}
