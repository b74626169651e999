import { useEffect, useState } from 'react';

/** True as long as something is, and a while longer. */
export function useLingering(value: boolean, ms: number): boolean {
  const [lingers, setLingers] = useState(value);
  if (value && !lingers) setLingers(true);
  useEffect(() => {
    if (value) return;
    const timer = setTimeout(() => setLingers(false), ms);
    return () => clearTimeout(timer);
  }, [value, ms]);
  return lingers;
}
