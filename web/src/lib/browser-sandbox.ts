// Runs code where it can reach nothing: a worker inside a frame of opaque origin. The other half is public/sandbox.html.

import { randomId } from './random-id';

export type SandboxResult =
  { ok: true; value: unknown; lines: string[] } | { ok: false; error: string; lines: string[] };

const RUN_MS = 5_000;
const LOAD_MS = 10_000;
const RESULT_BYTES_MAX = 256 * 1024;

/** Runs the code once and removes every trace of it, also when it never ends. */
export async function runInSandbox(code: string): Promise<SandboxResult> {
  const frame = document.createElement('iframe');
  // Never `allow-same-origin`: with it the frame could reach the page.
  frame.setAttribute('sandbox', 'allow-scripts');
  frame.setAttribute('allow', '');
  frame.setAttribute('referrerpolicy', 'no-referrer');
  frame.hidden = true;
  frame.src = '/sandbox.html';
  const timer = new AbortController();
  try {
    await within(LOAD_MS, loaded(frame), 'the sandbox could not be loaded');
    const nonce = randomId();
    const answer = answerOf(frame, nonce, timer.signal);
    frame.contentWindow?.postMessage({ nonce, code }, '*');
    return await within(RUN_MS, answer, `it took longer than ${RUN_MS / 1_000} seconds and was stopped`);
  } catch (error) {
    return { ok: false, error: error instanceof Error ? error.message : String(error), lines: [] };
  } finally {
    timer.abort();
    frame.remove();
  }
}

function loaded(frame: HTMLIFrameElement): Promise<void> {
  return new Promise((resolve) => {
    frame.addEventListener('load', () => resolve(), { once: true });
    document.body.append(frame);
  });
}

/** The frame's one answer. Its origin is opaque, so what proves it is the window it comes from and the nonce. */
function answerOf(frame: HTMLIFrameElement, nonce: string, signal: AbortSignal): Promise<SandboxResult> {
  return new Promise((resolve) => {
    const listen = ({ source, data }: MessageEvent<unknown>) => {
      if (source === null || source !== frame.contentWindow) return;
      const answer = readAnswer(data, nonce);
      if (answer !== null) resolve(answer);
    };
    window.addEventListener('message', listen, { signal });
  });
}

function readAnswer(data: unknown, nonce: string): SandboxResult | null {
  if (typeof data !== 'object' || data === null || !('nonce' in data) || data.nonce !== nonce) return null;
  const { json, error, lines: said } = data as { json?: unknown; error?: unknown; lines?: unknown };
  const lines = Array.isArray(said) ? said.filter((line) => typeof line === 'string') : [];
  if (typeof error === 'string') return { ok: false, error, lines };
  if (typeof json !== 'string' || json.length > RESULT_BYTES_MAX)
    return { ok: false, error: 'there was no result', lines };
  return { ok: true, value: JSON.parse(json), lines };
}

function within<T>(ms: number, work: Promise<T>, complaint: string): Promise<T> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => reject(new Error(complaint)), ms);
    work.then(resolve, reject).finally(() => clearTimeout(timer));
  });
}
