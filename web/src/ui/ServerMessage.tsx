import type { ReactNode } from 'react';
import { useI18n } from '@/lib/i18n/locale';
import type { CodedMessage } from '@/lib/i18n/sentence';
import { VisibleText } from './Code';
import styles from './ServerMessage.module.css';

interface Props {
  /** The first of these that the page has a sentence for is said. */
  coded: readonly (CodedMessage | null | undefined)[];
  /** The server's own words, which are in English, behind a click. */
  message: string;
  /** What they are called. */
  summary?: string;
}

/** What the server says, in the reader's language. */
export function ServerMessage({ coded, message, summary }: Props): ReactNode {
  const { t, translate } = useI18n();
  const known = coded.filter((one) => !!one);
  const sentence = known.map((one) => translate(one)).find((text) => text !== null) ?? t.app.wentWrong;
  const code = known[0]?.code ?? '';
  return (
    <>
      <VisibleText text={sentence} />
      {message !== '' && message !== sentence && (
        <details className={styles.original}>
          <summary>{summary ?? t.app.original}</summary>
          <span data-written-by="server">
            <VisibleText text={code === '' ? message : `${message} (${code})`} />
          </span>
        </details>
      )}
    </>
  );
}
