import { expect, test } from 'vitest';
import { labelsOf } from './call-view';
import { applyFrame, itemsOf, newRun, type Call, type RunState } from './run-state';
import type { EventBody } from '@/api/generated/events';

function callAfter(...facts: object[]): Call {
  const requested = { type: 'tool.requested', at: 1, step: 1, call: 'r:1:0', tool: 'read_page', arguments: '{}' };
  const state = [requested, ...facts].reduce<RunState>(
    (run, body, seq) => applyFrame(run, { kind: 'event', seq: seq + 1, body: body as EventBody }),
    newRun('r'),
  );
  return itemsOf(state).find((item) => item.kind === 'call') as Call;
}

const labels = { source: 'read_page', place: 'blog.test', untrusted: true };

test('a result says where it is from and how far to trust it', () => {
  const output = { text: 'hello', labels };
  const finished = { type: 'tool.finished', at: 2, call: 'r:1:0', output, trail: [] };
  const shown = { source: 'read_page', place: 'blog.test', isPrivate: false, isUntrusted: true };
  expect(labelsOf(callAfter(finished))).toEqual(shown);
});

test('so does a failure that quotes the tool, and an outcome that nobody knows', () => {
  const failed = {
    type: 'tool.failed',
    at: 2,
    call: 'r:1:0',
    failure: { kind: 'failed', message: '403', labels },
    trail: [],
  };
  const lost = {
    type: 'tool.unknown',
    at: 2,
    call: 'r:1:0',
    sent_at: 1,
    because: 'cut off',
    labels,
  };
  for (const fact of [failed, lost]) expect(labelsOf(callAfter(fact))?.isUntrusted).toBe(true);
});

test('what is of Helve itself says nothing', () => {
  const refused = { type: 'tool.refused', at: 2, call: 'r:1:0', failure: { kind: 'denied', message: 'no' }, trail: [] };
  expect(labelsOf(callAfter(refused))).toBeNull();
});
