import { expect, test } from 'vitest';
import { SseReader } from './sse';

const STREAM = 'id: 1\ndata: {"a":1}\n\n: still here\n\ndata: live\r\n\r\nid:2\rdata: two\rdata:lines\r\revent: x\n\n';
const MESSAGES = [
  { id: '1', data: '{"a":1}' },
  { id: null, data: 'live' },
  { id: '2', data: 'two\nlines' },
];

test('an id belongs to its own message only, comments say nothing', () => {
  expect(new SseReader().push(STREAM)).toEqual(MESSAGES);
});

test('the pieces in which text arrives do not matter', () => {
  for (let size = 1; size < 12; size += 1) {
    const reader = new SseReader();
    const seen = [];
    for (let at = 0; at < STREAM.length; at += size) seen.push(...reader.push(STREAM.slice(at, at + size)));
    expect(seen, `pieces of ${size}`).toEqual(MESSAGES);
  }
});

test('what is not ended is not yet there', () => {
  const reader = new SseReader();
  expect(reader.push('data: half')).toEqual([]);
  expect(reader.push('\n')).toEqual([]);
  expect(reader.push('\n')).toEqual([{ id: null, data: 'half' }]);
});
