import { useSpeech } from '@/lib/i18n/locale';
import styles from './Message.module.css';
import type { SpokenPlace } from './thread-messages';

/** What a person said while the answer was being worked on, at the place where the model hears it. */
export function SpokenMessage({ place: { spoken, isOver } }: { place: SpokenPlace }) {
  const { t } = useSpeech();
  const isHeard = spoken.step !== null;
  return (
    <div className={styles.asked} role="note" aria-label={t.chat.you}>
      <div
        className={isHeard ? styles.bubble : `${styles.bubble} ${styles.unsent}`}
        lang={/\p{Script=Han}/u.test(spoken.text) ? 'zh' : undefined}
      >
        {spoken.text}
      </div>
      {!isHeard && <small className={styles.unheard}>{isOver ? t.chat.notHeard : t.chat.willBeHeard}</small>}
    </div>
  );
}
