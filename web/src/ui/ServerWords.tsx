import type { ReactNode } from 'react';
import { useSpeech } from '@/lib/i18n/locale';
import { own } from '@/lib/own';
import { VisibleText } from './Code';
import styles from './ServerWords.module.css';

/** What the server says. It speaks English: in another language its code is translated, and its own words can be read. */
export function ServerWords({ code, message }: { code: string; message: string }): ReactNode {
  const { t } = useSpeech();
  if (t.speaksServer) return <VisibleText text={message} />;
  return (
    <>
      {own(t.problems, code) ?? t.app.wentWrong}
      <details className={styles.original}>
        <summary>{t.app.original}</summary>
        <VisibleText text={code === '' ? message : `${message} (${code})`} />
      </details>
    </>
  );
}
