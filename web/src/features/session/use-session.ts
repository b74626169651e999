import { useCallback, useEffect, useState } from 'react';
import { onUnauthorized } from '@/api/client';
import { type Session, type SignInWays, getSession, signOut } from '@/api/session';
import { getReach, subscribeReach } from '@/api/reachability';
import { deleteDrafts } from '@/lib/drafts';

export type SessionState =
  | { status: 'unknown' }
  | { status: 'unreachable' }
  | { status: 'signed-out'; ways: SignInWays }
  | { status: 'ready'; session: Session };

export interface SessionControl {
  state: SessionState;
  refresh: () => void;
  leave: () => void;
}

/** Who is here. Asked at the start, when the server comes back, and when it no longer knows us. */
export function useSession(): SessionControl {
  const [state, setState] = useState<SessionState>({ status: 'unknown' });
  const refresh = useCallback(() => {
    getSession().then(
      (session) =>
        setState(
          session.needed && !session.signed_in
            ? { status: 'signed-out', ways: session.ways }
            : { status: 'ready', session },
        ),
      // A page in use stays; only an empty one shows the sign-in.
      () => setState((known) => (known.status === 'unknown' ? { status: 'unreachable' } : known)),
    );
  }, []);
  useEffect(() => {
    refresh();
    const unsubscribe = subscribeReach(() => {
      if (getReach() === 'up') refresh();
    });
    const unlisten = onUnauthorized(refresh);
    return () => {
      unsubscribe();
      unlisten();
    };
  }, [refresh]);
  const leave = useCallback(() => {
    deleteDrafts();
    signOut().then((place) => {
      if (place === null) refresh();
      else window.location.assign(place);
    }, refresh);
  }, [refresh]);
  return { state, refresh, leave };
}
