import { useI18n } from '@/lib/i18n/locale';
import { Markdown } from '@/ui/Markdown';
import styles from './BrokenText.module.css';
import type { BrokenOff } from './run-state';

/** What was read of an answer that broke off. It stays: as the end of it, or until another attempt has replaced it. */
export function BrokenText({ broken: { text, now } }: { broken: BrokenOff }) {
  const { t } = useI18n();
  switch (now) {
    case 'last':
      return (
        <div className={styles.cut}>
          <Markdown text={text} />
          <p className={styles.mark}>{t.chat.cutOff}</p>
        </div>
      );
    case 'retried':
      return (
        <div className={styles.retried} role="note">
          <p className={styles.mark}>{t.chat.beginsAgain}</p>
          <Markdown text={text} />
        </div>
      );
  }
}
