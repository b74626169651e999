import { useSyncExternalStore } from 'react';
import type { codeTokens } from '@/lib/code-tokens';

type Highlighter = typeof codeTokens;

let highlighter: Highlighter | null = null;
let isAsked = false;
const listeners = new Set<() => void>();

/** What colours code, once it is here: the first answer can be read without it. */
export function useHighlighter(): Highlighter {
  return useSyncExternalStore(subscribe, current, current);
}

function current(): Highlighter {
  return highlighter ?? plain;
}

const plain: Highlighter = (text) => [{ kind: 'plain', text }];

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  if (!isAsked) {
    isAsked = true;
    import('@/lib/code-tokens').then(
      (module) => {
        highlighter = module.codeTokens;
        for (const known of listeners) known();
      },
      // The next code that is shown asks again.
      () => (isAsked = false),
    );
  }
  return () => listeners.delete(listener);
}
