// The server's own logs, recorded by its tests: followed here, they show what the kept message shows later.

import { readdirSync, readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import type { EventBody, Message } from '@/api/generated/events';
import { keptItems } from './kept-items';
import { applyFrame, itemsOf, newRun, type Item } from './run-state';

interface Transcript {
  events: { id: number; data: EventBody }[];
  message: Message;
}

const FOLDER = new URL('../../../../fixtures/transcripts/', import.meta.url);
const NAMES = readdirSync(FOLDER).filter((name) => name.endsWith('.json'));

test('there are transcripts', () => expect(NAMES).not.toHaveLength(0));

test.each(NAMES)('%s looks the same while it happens and when it is read again', (name) => {
  const { events, message } = JSON.parse(readFileSync(new URL(name, FOLDER), 'utf8')) as Transcript;
  const run = events.reduce(
    (state, { id, data }) => applyFrame(state, { kind: 'event', seq: id, body: data }),
    newRun('r'),
  );
  expect(run.end).not.toBeNull();
  expect(run.asked?.reply).toBe(message.id);
  expect(itemsOf(run).map(lasting)).toEqual(keptItems(message).map(lasting));
});

/** What a message keeps of an item: its way there is only in the log. */
function lasting(item: Item) {
  const { key: _, ...kept } = item;
  return kept.kind === 'call' ? { ...kept, trail: [], approval: null } : kept;
}
