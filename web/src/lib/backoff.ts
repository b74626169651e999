const FIRST_MS = 1_000;
const LONGEST_MS = 10_000;

/** How long to wait before the next try: doubling from a second, and spread so that many clients do not come at once. */
export function delayMs(attempt: number, random: () => number = Math.random): number {
  const full = Math.min(LONGEST_MS, FIRST_MS * 2 ** Math.min(attempt, 10));
  return full * (1 + random() / 2);
}
