import { expect, test } from 'vitest';
import type { Message } from '@/api/generated/events';
import { entriesOf, newChat } from './chat-state';
import { applyFrame, newRun } from './run-state';
import { type PaidStep, spentOn, stepsOf } from './spent';

const usage = { input_tokens: 10, output_tokens: 5, cached_tokens: 4 };

function step(model: string, cost: number | null): PaidStep {
  return { step: 1, model, usage, cost_nanos: cost };
}

test('tokens and known costs are added up, and cached tokens are part of the input', () => {
  expect(spentOn([step('a', 700), step('b', null), step('a', 50)])).toEqual({
    tokens: 45,
    costNanos: 750,
    models: ['a', 'b'],
  });
});

test('where no price is known there is no cost, which is not the same as nothing', () => {
  expect(spentOn([step('a', null)]).costNanos).toBeNull();
  expect(spentOn([step('a', 0)]).costNanos).toBe(0);
  expect(spentOn([])).toEqual({ tokens: 0, costNanos: null, models: [] });
});

test('a run followed here and a message that was kept say the same', () => {
  const asked = { message: null, reply: 'm1', text: 'hi', model: 'a', agent: 'default', conversation: 'c1' } as const;
  const finished = { type: 'step.finished', step: 1, attempt: 1, reason: 'stop', mode: 'native', usage } as const;
  const run = [
    { at: 1, type: 'run.started', ...asked } as const,
    { at: 2, ...finished, cost_nanos: 700 },
    { at: 3, ...finished, step: 2, model: 'b' },
  ].reduce((state, body, index) => applyFrame(state, { kind: 'event', seq: index + 1, body }), newRun('r1'));
  const steps: PaidStep[] = [step('a', 700), { ...step('b', null), step: 2 }];
  expect(run.steps).toEqual(steps);
  const message: Message = { id: 'm1', role: 'assistant', at: 1, run: 'r1', model: 'a', parts: [], steps };
  const kept = entriesOf({ ...newChat(true), history: { status: 'ready', messages: [message] } });
  expect(kept.map(stepsOf)).toEqual([steps]);
});
