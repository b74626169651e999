import type { ReactNode } from 'react';
import { useSpeech } from '@/lib/i18n/locale';
import type { Told } from '@/lib/i18n/sentence';
import { VisibleText } from './Code';
import styles from './ServerWords.module.css';

interface Props {
  /** The first of these that the page has a sentence for is said. */
  told: readonly (Told | null | undefined)[];
  /** The server's own words, which are in English, behind a click. */
  message: string;
  /** What they are called. */
  summary?: string;
}

/** What the server says, in the reader's language. */
export function ServerWords({ told, message, summary }: Props): ReactNode {
  const { t, say } = useSpeech();
  const known = told.filter((one) => !!one);
  const sentence = known.map((one) => say(one)).find((said) => said !== null) ?? t.app.wentWrong;
  const code = known[0]?.code ?? '';
  return (
    <>
      <VisibleText text={sentence} />
      {message !== '' && message !== sentence && (
        <details className={styles.original}>
          <summary>{summary ?? t.app.original}</summary>
          <VisibleText text={code === '' ? message : `${message} (${code})`} />
        </details>
      )}
    </>
  );
}
