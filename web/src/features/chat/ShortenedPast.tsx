import { useI18n } from '@/lib/i18n/locale';
import { formatCount } from '@/lib/money';
import type { Shortened } from './run-state';
import styles from './ShortenedPast.module.css';

/** The place from which on the model is shown less of the past, with the summary that it reads instead. */
export function ShortenedPast({ shortened: { summary, outputs, tokens } }: { shortened: Shortened }) {
  const { t, tag } = useI18n();
  const sizes = t.shortened.tokens(formatCount(tokens.before, tag), formatCount(tokens.after, tag));
  const said = summary === null ? t.shortened.outputs(outputs) : t.shortened.summary;
  if (summary === null) {
    return (
      <p className={styles.shortened} role="note">
        {said} <small>{sizes}</small>
      </p>
    );
  }
  return (
    <details className={styles.shortened}>
      <summary>
        {said} <small>{sizes}</small>
      </summary>
      <p className={styles.text} data-written-by="model">
        {summary}
      </p>
      <p className={styles.hint}>{t.shortened.hint}</p>
    </details>
  );
}
