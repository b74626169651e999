// The server's time of day. Times in events are the server's, and a browser's clock may be far off.

let aheadMs = Number.POSITIVE_INFINITY;

/** Takes in a `Date` header. It has whole seconds and travelled a while, so the smallest difference seen is the best. */
export function observeServerDate(header: string | null, now = Date.now()): void {
  const server = header === null ? Number.NaN : Date.parse(header);
  if (!Number.isNaN(server)) aheadMs = Math.min(aheadMs, now - server);
}

export function serverNow(now = Date.now()): number {
  return Number.isFinite(aheadMs) ? now - aheadMs : now;
}
