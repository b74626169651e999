// A yes for more than one call: what is said, as the server wants it.

import type { Always, Within } from '@/api/generated/events';

/** How far a yes can reach, nearest first. */
const REACHES: readonly Within[] = ['run', 'conversation', 'agent'];

/** A question about a loop shows one run, and is decided for that run. */
export function reachesOf({ repeats }: { repeats?: boolean }): readonly Within[] {
  return repeats ? ['run'] : REACHES;
}

/** What most people mean: the next message is the same matter, though another run. */
export function usualReach({ repeats }: { repeats?: boolean }): Within {
  return repeats ? 'run' : 'conversation';
}

/** For how long, in days. */
export const DAYS: readonly number[] = [1, 7, 30];

const DAY_MS = 86_400_000;

export interface Choice {
  within: Within;
  days: number;
  /** Whether only calls with the same arguments are meant. */
  isSame: boolean;
}

export function alwaysOf({ within, days, isSame }: Choice, text: string): Always {
  const same = isSame ? sameArguments(text) : null;
  return same === null ? { within, days } : { within, days, arguments: same };
}

/** When it would end. */
export function endOf(choice: Choice, now: number): number {
  return now + choice.days * DAY_MS;
}

/**
 * Conditions that only the same arguments fit; null where there are none to compare or they cannot be written as
 * conditions: a `*` stands for any text, and a list for one of several.
 */
export function sameArguments(text: string): Record<string, unknown> | null {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return null;
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return null;
  const members = Object.entries(value);
  return members.length > 0 && members.every(isPlain) ? Object.fromEntries(members) : null;
}

function isPlain([name, value]: [string, unknown]): boolean {
  if (name.includes('.')) return false;
  return typeof value === 'string' ? !value.includes('*') : value === null || typeof value !== 'object';
}
