import { type ReactNode, useEffect, useRef } from 'react';
import styles from './Drawer.module.css';

interface Props {
  label: string;
  onClose: () => void;
  children: ReactNode;
}

/** A panel from the side, where the screen is too narrow to show it always. */
export function Drawer({ label, onClose, children }: Props) {
  const ref = useRef<HTMLDialogElement>(null);
  useEffect(() => ref.current?.showModal(), []);
  return (
    <dialog ref={ref} className={styles.drawer} aria-label={label} onClose={onClose} closedby="any">
      {children}
    </dialog>
  );
}
