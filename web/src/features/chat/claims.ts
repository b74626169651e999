// Calls that this window has: whose a call is, and how it is kept while the window is at it.

/** Often enough that a lease of a minute outlives three that were lost. */
const HEARTBEAT_MS = 15_000;

export type Holder = 'nobody' | 'us' | 'others';

/** Who has a call. */
export function holderOf(claimedBy: string | null, us: string): Holder {
  if (claimedBy === null) return 'nobody';
  return claimedBy === us ? 'us' : 'others';
}

/** Lets the server hear of us from time to time, until it is stopped or says that the call is gone. */
export function keepHeard(beat: () => Promise<unknown>, isGone: (error: unknown) => boolean): () => void {
  const timer = setInterval(() => {
    beat().catch((error: unknown) => {
      // A network that fails now may work in time.
      if (isGone(error)) clearInterval(timer);
    });
  }, HEARTBEAT_MS);
  return () => clearInterval(timer);
}
