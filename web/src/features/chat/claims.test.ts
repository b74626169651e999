import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { holderOf, keepHeard } from './claims';

test('a call is nobody’s, ours or another window’s', () => {
  expect(holderOf(null, 'us')).toBe('nobody');
  expect(holderOf('us', 'us')).toBe('us');
  expect(holderOf('them', 'us')).toBe('others');
});

describe('while we are at a call', () => {
  beforeEach(() => void vi.useFakeTimers());
  afterEach(() => void vi.useRealTimers());

  test('we are heard four times a minute, until we are done', async () => {
    const beat = vi.fn(() => Promise.resolve());
    const stop = keepHeard(beat, () => false);
    await vi.advanceTimersByTimeAsync(60_000);
    expect(beat).toHaveBeenCalledTimes(4);
    stop();
    await vi.advanceTimersByTimeAsync(60_000);
    expect(beat).toHaveBeenCalledTimes(4);
  });

  test('a lost word does not end it, a lost call does', async () => {
    const answers = [new Error('offline'), new Error('gone')];
    const beat = vi.fn(() => Promise.reject(answers.shift()));
    keepHeard(beat, (error) => (error as Error).message === 'gone');
    await vi.advanceTimersByTimeAsync(300_000);
    expect(beat).toHaveBeenCalledTimes(2);
  });
});
