import { type ReactNode, useEffect, useId, useRef } from 'react';
import { useI18n } from '@/lib/i18n/locale';
import { IconButton } from './Button';
import styles from './Dialog.module.css';

interface Props {
  title: string;
  onClose: () => void;
  children: ReactNode;
}

/** A modal window. The browser keeps the focus inside, closes it on Escape and gives the focus back. */
export function Dialog({ title, onClose, children }: Props) {
  const { t } = useI18n();
  const ref = useRef<HTMLDialogElement>(null);
  const titleId = useId();
  useEffect(() => ref.current?.showModal(), []);
  return (
    <dialog ref={ref} className={styles.dialog} aria-labelledby={titleId} onClose={onClose} closedby="any">
      <div className={styles.head}>
        <h2 id={titleId} className={styles.title}>
          {title}
        </h2>
        <IconButton icon="close" label={t.app.close} onClick={() => ref.current?.close()} />
      </div>
      <div className={styles.body}>{children}</div>
    </dialog>
  );
}
