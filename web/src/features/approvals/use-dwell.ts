import { type RefObject, useEffect, useState } from 'react';

/** So long a decision must have been in view before it can be taken. */
const DWELL_MS = 500;

/** Whether the moment has passed, passes, or waits until the element is in view of a focused window. */
export type Dwell = 'away' | 'passing' | 'ready';

/**
 * A moment during which any part of an element has been in view of a focused window. A click meant for something else,
 * or lured here by another page, comes too early. Nothing else holds a decision back.
 */
export function useDwell(ref: RefObject<HTMLElement | null>): Dwell {
  const [dwell, setDwell] = useState<Dwell>('away');
  useEffect(() => {
    const element = ref.current;
    if (element === null) return;
    let isInView = false;
    let timer: ReturnType<typeof setTimeout> | undefined;
    const look = () => {
      clearTimeout(timer);
      const passes = isInView && document.hasFocus();
      setDwell(passes ? 'passing' : 'away');
      if (passes) timer = setTimeout(() => setDwell('ready'), DWELL_MS);
    };
    const observer = new IntersectionObserver(([entry]) => {
      isInView = entry?.isIntersecting ?? false;
      look();
    });
    observer.observe(element);
    window.addEventListener('focus', look);
    window.addEventListener('blur', look);
    return () => {
      clearTimeout(timer);
      observer.disconnect();
      window.removeEventListener('focus', look);
      window.removeEventListener('blur', look);
    };
  }, [ref]);
  return dwell;
}
