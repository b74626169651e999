import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { ApiError } from './errors';
import { followRun } from './follow-run';

type Connection = (after: string) => Response | Promise<Response>;

const asked: string[] = [];
let connections: Connection[] = [];

beforeEach(() => {
  asked.length = 0;
  vi.useFakeTimers();
  vi.stubGlobal('window', new EventTarget());
  vi.stubGlobal('document', Object.assign(new EventTarget(), { visibilityState: 'visible' }));
  vi.stubGlobal('fetch', (path: string, { headers }: { headers: Record<string, string> }) => {
    if (path === '/healthz') return Promise.resolve(new Response('ok'));
    expect(headers['X-Helve-Page']).toBe('1');
    const after = headers['Last-Event-ID'] ?? '';
    asked.push(after);
    const connection = connections.shift();
    return connection ? Promise.resolve(connection(after)) : Promise.reject(new TypeError('refused'));
  });
});

afterEach(() => {
  vi.useRealTimers();
  vi.unstubAllGlobals();
});

function fact(seq: number, type = 'run.resumed'): string {
  return `id: ${seq}\ndata: ${JSON.stringify({ type, at: 1, resume: seq })}\n\n`;
}

/** A connection that brings these frames and then ends. */
function brings(...frames: string[]): Connection {
  return () => new Response(frames.join(''));
}

async function follow(after = 0): Promise<string[]> {
  const seen: string[] = [];
  const following = followRun({
    run: 'r1',
    after,
    signal: new AbortController().signal,
    onFrame: (frame) => seen.push(frame.kind === 'event' ? `${frame.seq} ${frame.body.type}` : frame.body.type),
    onLink: (link) => seen.push(link),
  });
  // An error is looked at by whoever awaits it, after the timers have run.
  following.catch(() => {});
  await vi.advanceTimersByTimeAsync(120_000);
  await following;
  return seen;
}

test('a run is followed to its last event', async () => {
  connections = [
    brings(fact(1), 'data: {"type":"server.draining"}\n\n', fact(2, 'run.finished'), fact(3, 'tool.late')),
  ];
  expect(await follow()).toEqual(['live', '1 run.resumed', 'server.draining', '2 run.finished']);
  expect(asked).toEqual(['0']);
});

test('a broken connection is taken up behind the last event, and what comes twice counts once', async () => {
  connections = [
    brings(fact(1), fact(2)),
    () => Promise.reject(new TypeError('refused')),
    () => new Response('busy', { status: 503 }),
    brings(fact(2), fact(3, 'run.finished')),
  ];
  const seen = await follow();
  expect(seen.filter((entry) => !['live', 'lost'].includes(entry))).toEqual([
    '1 run.resumed',
    '2 run.resumed',
    '3 run.finished',
  ]);
  expect(asked).toEqual(['0', '2', '2', '2']);
});

test('a gap ends the connection, and nothing behind it is believed', async () => {
  connections = [brings(fact(1), fact(3)), brings(fact(2), fact(3, 'run.finished'))];
  expect(await follow()).toEqual(['live', '1 run.resumed', 'lost', 'live', '2 run.resumed', '3 run.finished']);
  expect(asked).toEqual(['0', '1']);
});

test('a silent connection is given up', async () => {
  const silent = new ReadableStream({ start: (stream) => stream.enqueue(new TextEncoder().encode(fact(1))) });
  connections = [() => new Response(silent), brings(fact(2, 'run.finished'))];
  expect(await follow()).toEqual(['live', '1 run.resumed', 'lost', 'live', '2 run.finished']);
});

test('204 says that there is no more', async () => {
  connections = [() => new Response(null, { status: 204 })];
  expect(await follow(7)).toEqual([]);
  expect(asked).toEqual(['7']);
});

test('what trying again cannot mend is thrown', async () => {
  connections = [() => new Response('{"code":"not_found","detail":"no such run"}', { status: 404 })];
  await expect(follow()).rejects.toThrow(ApiError);
  expect(asked).toHaveLength(1);
});
