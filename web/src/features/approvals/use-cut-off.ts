import { type RefObject, useEffect, useState } from 'react';

/** Steps fine enough that the last line of a long element is noticed. */
const THRESHOLDS = Array.from({ length: 21 }, (_, n) => n / 20);

/** More than a rounding error. */
const SLACK_PX = 2;

/** Whether the beginning of an element is out of sight now, and whether it ever was. */
export interface CutOff {
  now: boolean;
  ever: boolean;
}

export function useCutOff(ref: RefObject<HTMLElement | null>): CutOff {
  const [cutOff, setCutOff] = useState<CutOff>({ now: false, ever: false });
  useEffect(() => {
    const element = ref.current;
    if (element === null) return;
    const observer = new IntersectionObserver(
      ([entry]) => {
        if (entry === undefined) return;
        const { isIntersecting, intersectionRect, boundingClientRect } = entry;
        const now = !isIntersecting || intersectionRect.top > boundingClientRect.top + SLACK_PX;
        setCutOff((before) => ({ now, ever: before.ever || now }));
      },
      { threshold: THRESHOLDS },
    );
    observer.observe(element);
    return () => observer.disconnect();
  }, [ref]);
  return cutOff;
}
