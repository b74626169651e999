import { useCallback, useEffect, useState } from 'react';
import { type Approval, listPendingApprovals } from '@/api/approvals';

/** Questions of runs that are not followed here are polled. */
const POLL_MS = 30_000;

export interface PendingApprovals {
  approvals: Approval[];
  refresh: () => void;
}

export function usePendingApprovals(): PendingApprovals {
  const [approvals, setApprovals] = useState<Approval[]>([]);
  const refresh = useCallback(() => {
    listPendingApprovals().then(setApprovals, () => {
      // The next time will do.
    });
  }, []);
  useEffect(() => {
    refresh();
    const timer = setInterval(() => {
      if (document.visibilityState === 'visible') refresh();
    }, POLL_MS);
    window.addEventListener('focus', refresh);
    return () => {
      clearInterval(timer);
      window.removeEventListener('focus', refresh);
    };
  }, [refresh]);
  return { approvals, refresh };
}
