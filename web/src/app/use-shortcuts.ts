import { useEffect } from 'react';

const isMac = /Mac|iPhone|iPad/.test(navigator.userAgent);

export const SHORTCUT_NEW = isMac ? '⇧⌘O' : 'Ctrl ⇧ O';

/** Ctrl+Shift+O begins a new conversation; a slash goes to the message box from wherever nothing is written. */
export function useShortcuts(onNew: () => void): void {
  useEffect(() => {
    const listen = (event: KeyboardEvent) => {
      if ((event.ctrlKey || event.metaKey) && event.shiftKey && event.key.toLowerCase() === 'o') {
        event.preventDefault();
        onNew();
      } else if (event.key === '/' && !event.ctrlKey && !event.metaKey && !isWriting(event.target)) {
        event.preventDefault();
        document.getElementById('composer')?.focus();
      }
    };
    window.addEventListener('keydown', listen);
    return () => window.removeEventListener('keydown', listen);
  }, [onNew]);
}

function isWriting(target: EventTarget | null): boolean {
  return (
    target instanceof HTMLElement && (target.isContentEditable || /^(?:INPUT|TEXTAREA|SELECT)$/.test(target.tagName))
  );
}
