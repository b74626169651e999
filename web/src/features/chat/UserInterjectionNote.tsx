import { useI18n } from '@/lib/i18n/locale';
import styles from './Message.module.css';
import type { InterjectionPlace } from './thread-messages';

/** What a person said while the answer was being worked on, at the place where the model hears it. */
export function UserInterjectionNote({ place: { interjection, isOver } }: { place: InterjectionPlace }) {
  const { t } = useI18n();
  const isHeard = interjection.step !== null;
  return (
    <div className={styles.asked} role="note" aria-label={t.chat.you}>
      <div
        className={isHeard ? styles.bubble : `${styles.bubble} ${styles.unsent}`}
        lang={/\p{Script=Han}/u.test(interjection.text) ? 'zh' : undefined}
        data-written-by="user"
      >
        {interjection.text}
      </div>
      {!isHeard && <small className={styles.unheard}>{isOver ? t.chat.notHeard : t.chat.willBeHeard}</small>}
    </div>
  );
}
