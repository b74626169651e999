import { randomId } from './random-id';

const KEY = 'helve.client';
let known: string | null = null;

/** The name of this window, which stays when it is loaded again. */
export function clientId(): string {
  known ??= kept() ?? fresh();
  return known;
}

function kept(): string | null {
  try {
    return sessionStorage.getItem(KEY);
  } catch {
    return null;
  }
}

function fresh(): string {
  const id = randomId();
  try {
    sessionStorage.setItem(KEY, id);
  } catch {
    // Then the window has another name when it is loaded again.
  }
  return id;
}
