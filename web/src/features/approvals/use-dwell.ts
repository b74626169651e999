import { type RefObject, useEffect, useState } from 'react';

/** So long a decision must have been in view before it can be taken. */
const DWELL_MS = 500;

/**
 * Whether an element has been in full view of a focused window for a moment. A click meant for something else, or
 * lured here by another page, comes too early.
 */
export function useDwell(ref: RefObject<HTMLElement | null>): boolean {
  const [isReady, setReady] = useState(false);
  useEffect(() => {
    const element = ref.current;
    if (element === null) return;
    let isInView = false;
    let timer: ReturnType<typeof setTimeout> | undefined;
    const look = () => {
      clearTimeout(timer);
      setReady(false);
      if (isInView && document.hasFocus()) timer = setTimeout(() => setReady(true), DWELL_MS);
    };
    const observer = new IntersectionObserver(
      ([entry]) => {
        isInView = entry?.isIntersecting ?? false;
        look();
      },
      { threshold: 0.95 },
    );
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
  return isReady;
}
