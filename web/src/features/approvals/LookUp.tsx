import type { RefObject } from 'react';
import { useI18n } from '@/lib/i18n/locale';
import { Button } from '@/ui/Button';
import styles from './LookUp.module.css';
import { useCutOff } from './use-cut-off';

/**
 * Says, beside the buttons that decide, that what they decide about begins further up than the screen does, and leads
 * there. Its place stays once it was needed: buttons that move would get a click meant for another.
 */
export function LookUp({ subject }: { subject: RefObject<HTMLElement | null> }) {
  const { t } = useI18n();
  const { now, ever } = useCutOff(subject);
  if (!ever) return null;
  return (
    <p className={now ? styles.cue : `${styles.cue} ${styles.away}`}>
      <span>{t.approvals.further}</span>
      <Button size="small" onClick={() => subject.current?.scrollIntoView({ block: 'start' })}>
        {t.approvals.lookUp}
      </Button>
    </p>
  );
}
