import { useCallback, useSyncExternalStore } from 'react';
import { type Route, pathOf, routeOf } from '@/lib/paths';

const listeners = new Set<() => void>();

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  window.addEventListener('popstate', listener);
  return () => {
    listeners.delete(listener);
    window.removeEventListener('popstate', listener);
  };
}

/** Where we are, and the way to go elsewhere. The address bar is the only truth. */
export function useRoute(): [Route, (route: Route, how?: 'push' | 'replace') => void] {
  const path = useSyncExternalStore(subscribe, () => window.location.pathname);
  const go = useCallback((route: Route, how: 'push' | 'replace' = 'push') => {
    const target = pathOf(route);
    if (target === window.location.pathname) return;
    if (how === 'push') window.history.pushState(null, '', target);
    else window.history.replaceState(null, '', target);
    for (const listener of listeners) listener();
  }, []);
  return [routeOf(path), go];
}
