import { afterEach, expect, test, vi } from 'vitest';
import { getFile, isKept, readOutput } from './kept';

afterEach(() => vi.unstubAllGlobals());

function answers(response: (path: string) => Response) {
  const asked: string[] = [];
  vi.stubGlobal('fetch', (path: string, { headers }: { headers: Record<string, string> }) => {
    expect(headers['X-Helve-Page']).toBe('1');
    asked.push(path);
    return Promise.resolve(response(path));
  });
  return asked;
}

test('an output is read on from where the last piece ended', async () => {
  const pieces = ['字字', '字'];
  const asked = answers(() => {
    const headers: Record<string, string> = pieces.length > 1 ? { 'X-Helve-Next-Offset': '6' } : {};
    return new Response(pieces.shift(), { headers });
  });
  const first = await readOutput('r1', 'r1:1:0+', 0, 6);
  expect(first).toEqual({ text: '字字', next: 6 });
  expect(await readOutput('r1', 'r1:1:0+', first.next ?? 0, 6)).toEqual({ text: '字', next: null });
  expect(asked).toEqual([
    '/api/runs/r1/calls/r1%3A1%3A0%2B/output?offset=0&limit=6',
    '/api/runs/r1/calls/r1%3A1%3A0%2B/output?offset=6&limit=6',
  ]);
});

test('a file is read with the header that makes the cookie count', async () => {
  const asked = answers(() => new Response(new Uint8Array([1, 2, 3]), { headers: { 'Content-Type': 'image/png' } }));
  const blob = await getFile('/api/runs/r1/files/aa');
  expect([blob.size, blob.type]).toEqual([3, 'image/png']);
  expect(asked).toEqual(['/api/runs/r1/files/aa']);
});

test('only addresses of kept files are files of ours', () => {
  expect(isKept('/api/runs/r1/files/aa')).toBe(true);
  for (const url of [
    'https://elsewhere.example/api/runs/r1/files/aa',
    '//elsewhere.example/api/runs/r1/files/aa',
    '/api/runs/r1/files/aa?x=1',
    '/api/runs/r1/../files/aa',
    '/api/session',
    'data:image/png;base64,AAAA',
    'javascript:alert(1)',
  ]) {
    expect(isKept(url), url).toBe(false);
  }
});
