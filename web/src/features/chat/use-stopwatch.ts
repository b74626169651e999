import { useEffect, useState } from 'react';

const TICK_MS = 1_000;

/** For how long something has been going on, or went on; null if it was never seen going on. */
export function useStopwatch(isRunning: boolean): number | null {
  const [span, setSpan] = useState<{ from: number; to: number } | null>(null);
  useEffect(() => {
    if (!isRunning) return;
    const from = performance.now();
    const look = () => setSpan({ from, to: performance.now() });
    look();
    const timer = setInterval(look, TICK_MS);
    return () => {
      clearInterval(timer);
      look();
    };
  }, [isRunning]);
  return span && span.to - span.from;
}
