import { expect, test } from 'vitest';
import type { Message } from '@/api/generated/events';
import { type Action, type ChatState, activeRun, changeChat, entriesOf, newChat } from './chat-state';

const question: Message = { id: 'm1', role: 'user', at: 1, parts: [{ type: 'text', step: 0, text: 'hi' }] };
const answer: Message = {
  id: 'm2',
  role: 'assistant',
  at: 2,
  run: 'r1',
  parts: [{ type: 'text', step: 1, text: 'yo' }],
};

const started: Action = {
  type: 'frame',
  run: 'r1',
  frame: {
    kind: 'event',
    seq: 1,
    body: { type: 'run.started', at: 1, agent: 'a', model: 'demo', message: 'm1', reply: 'm2', text: 'hi' },
  },
};
const finished: Action = {
  type: 'frame',
  run: 'r1',
  frame: { kind: 'event', seq: 2, body: { type: 'run.finished', at: 2, ending: 'answered' } },
};

function after(actions: Action[], state: ChatState = newChat(true)): ChatState {
  return actions.reduce(changeChat, state);
}

function shape(state: ChatState): string[] {
  return entriesOf(state).map(
    (entry) => `${entry.kind} ${entry.id}${entry.kind === 'asked' && entry.error ? ' !' : ''}`,
  );
}

test('a message is shown from the moment it is sent, and once', () => {
  const send: Action = { type: 'send', key: 'k', text: 'hi', at: 1 };
  const state = after([send]);
  expect(shape(state)).toEqual(['asked k']);
  expect(shape(after([{ type: 'sent', run: 'r1' }], state))).toEqual(['asked k', 'run r1']);
  expect(shape(after([{ type: 'sent', run: 'r1' }, started], state))).toEqual(['asked m1', 'run r1']);
});

test('a message that was not sent can be sent again or discarded', () => {
  const failed = after([
    { type: 'send', key: 'k', text: 'hi', at: 1 },
    { type: 'not-sent', error: new Error('no') },
  ]);
  expect(shape(failed)).toEqual(['asked k !']);
  expect(shape(after([{ type: 'discard' }], failed))).toEqual([]);
});

test('after a reload the run in progress continues what is kept, and doubles nothing', () => {
  const loaded = after([
    { type: 'history', history: { status: 'ready', messages: [question] } },
    { type: 'follow', run: 'r1' },
  ]);
  expect(shape(loaded)).toEqual(['asked m1', 'run r1']);
  expect(shape(after([started], loaded))).toEqual(['asked m1', 'run r1']);
  const reread: Action = { type: 'history', history: { status: 'ready', messages: [question, answer] } };
  expect(shape(after([started, finished, reread], loaded))).toEqual(['asked m1', 'run r1']);
});

test('a run is active until it is over', () => {
  const running = after([{ type: 'follow', run: 'r1' }, started]);
  expect(activeRun(running)?.run).toBe('r1');
  expect(activeRun(after([finished], running))).toBeNull();
});
