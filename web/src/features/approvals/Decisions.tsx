import { type ReactNode, useEffect, useRef } from 'react';
import { useI18n } from '@/lib/i18n/locale';
import styles from './Decisions.module.css';
import { useDwell } from './use-dwell';

interface Props {
  isBusy: boolean;
  /** Whether they were just asked for, so that they are brought into view. */
  isWanted?: boolean;
  children: (isReady: boolean) => ReactNode;
}

/** Buttons that decide. They work after a moment in view; a line above them fills while it passes. */
export function Decisions({ isBusy, isWanted = false, children }: Props) {
  const { t } = useI18n();
  const ref = useRef<HTMLDivElement>(null);
  const dwell = useDwell(ref);
  useEffect(() => {
    if (isWanted && !isBusy) ref.current?.scrollIntoView({ block: 'nearest' });
  }, [isWanted, isBusy]);
  return (
    <div ref={ref} className={styles.decisions}>
      <div className={styles.pause} data-dwell={dwell} title={dwell === 'ready' ? undefined : t.approvals.pause}>
        <i />
      </div>
      <div className={styles.buttons}>{children(dwell === 'ready' && !isBusy)}</div>
    </div>
  );
}
