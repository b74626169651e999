import { useEffect, useState } from 'react';
import { serverNow } from '@/lib/server-clock';

const TICK_MS = 1_000;

/** The server's time, again and again while somebody wants to see it pass. */
export function useNow(isTicking: boolean): number {
  const [now, setNow] = useState(() => serverNow());
  useEffect(() => {
    if (!isTicking) return;
    const timer = setInterval(() => setNow(serverNow()), TICK_MS);
    return () => clearInterval(timer);
  }, [isTicking]);
  return now;
}
