import { type ReactNode, useState, useSyncExternalStore } from 'react';
import { getReach, subscribeReach } from '@/api/reachability';
import { useI18n } from '@/lib/i18n/locale';
import { IconButton } from '@/ui/Button';
import { Drawer } from '@/ui/Drawer';
import { Notice } from '@/ui/Notice';
import { useMediaQuery } from '@/ui/use-media-query';
import styles from './Layout.module.css';

interface Props {
  /** The conversations; told how to close itself where it covers the page. */
  side: (close: () => void) => ReactNode;
  /** What the page is about, for those who go by headings; none where the page itself has one. */
  title: string | null;
  picker: ReactNode;
  tools: ReactNode;
  children: ReactNode;
}

/** The frame of the page: conversations at the side, or in a drawer where there is no room. */
export function Layout({ side, title, picker, tools, children }: Props) {
  const { t } = useI18n();
  const isNarrow = useMediaQuery('(max-width: 820px)');
  const [isOpen, setOpen] = useState(false);
  const reach = useSyncExternalStore(subscribeReach, getReach);
  const close = () => setOpen(false);
  return (
    <div className={styles.layout}>
      <a className={styles.skip} href="#composer">
        {t.app.skipToComposer}
      </a>
      {!isNarrow && <aside className={styles.side}>{side(close)}</aside>}
      {isNarrow && isOpen && (
        <Drawer label={t.conversations.title} onClose={close}>
          {side(close)}
        </Drawer>
      )}
      <main className={styles.main}>
        <header className={styles.header}>
          {title !== null && <h1 className="visually-hidden">{title}</h1>}
          {isNarrow && (
            <IconButton icon="menu" label={t.app.openMenu} aria-expanded={isOpen} onClick={() => setOpen(true)} />
          )}
          <div className={styles.picker}>{picker}</div>
          {tools}
        </header>
        {reach === 'down' && (
          <div className={styles.bar}>
            <Notice tone="warn" icon="offline" title={t.app.unreachable} detail={t.app.unreachableHint} />
          </div>
        )}
        {children}
      </main>
    </div>
  );
}
