import type { ReactNode } from 'react';
import { CopyButton } from './CopyButton';
import styles from './Pane.module.css';

interface Props {
  title: string;
  /** What is copied: the text without its form. */
  text: string;
  /** Whether all of it is shown where it stands, instead of in a frame that scrolls. */
  whole?: boolean;
  children: ReactNode;
}

/** Preformatted text of any length: it scrolls, and can be copied. */
export function Pane({ title, text, whole = false, children }: Props) {
  return (
    <div className={styles.pane} role="group" aria-label={title}>
      <div className={styles.head}>
        <span>{title}</span>
        <CopyButton text={text} />
      </div>
      {/* It scrolls, so it must be reachable by the keyboard. */}
      {/* oxlint-disable-next-line jsx-a11y/no-noninteractive-tabindex */}
      <pre className={whole ? `${styles.body} ${styles.whole}` : styles.body} tabIndex={0} data-written-by="tool">
        {children}
      </pre>
    </div>
  );
}
