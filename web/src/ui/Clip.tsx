import { type ReactNode, useEffect, useRef, useState } from 'react';
import { useI18n } from '@/lib/i18n/locale';
import { Button } from './Button';
import styles from './Clip.module.css';

/** Shows the beginning of what is long, so that it is seen that there is more, and all of it on demand. */
export function Clip({ children }: { children: ReactNode }) {
  const { t } = useI18n();
  const ref = useRef<HTMLDivElement>(null);
  const [isLong, setLong] = useState(false);
  const [isOpen, setOpen] = useState(false);
  useEffect(() => {
    const element = ref.current;
    if (element === null || isOpen) return;
    const measure = () => setLong(element.scrollHeight > element.clientHeight + 1);
    measure();
    const observer = new ResizeObserver(measure);
    observer.observe(element);
    return () => observer.disconnect();
  }, [isOpen]);
  const names = [styles.content, !isOpen && styles.closed, !isOpen && isLong && styles.cut];
  return (
    <div className={styles.clip}>
      <div ref={ref} className={names.filter(Boolean).join(' ')}>
        {children}
      </div>
      {isLong && !isOpen && (
        <div className={styles.more}>
          <span>{t.app.clipped}</span>
          <Button size="small" onClick={() => setOpen(true)}>
            {t.app.showAll}
          </Button>
        </div>
      )}
    </div>
  );
}
