import type { ReactNode } from 'react';
import { useI18n } from '@/lib/i18n/locale';
import { IconButton } from '@/ui/Button';
import { Icon } from '@/ui/Icon';
import styles from './Sidebar.module.css';
import { SHORTCUT_NEW } from './use-shortcuts';

interface Props {
  user: string | null;
  /** The list of conversations. */
  children: ReactNode;
  settings: ReactNode;
  onNew: () => void;
  /** Closes the drawer, where the sidebar is in one. */
  onClose: (() => void) | null;
}

export function Sidebar({ user, children, settings, onNew, onClose }: Props) {
  const { t } = useI18n();
  return (
    <>
      <div className={styles.head}>
        <img className={styles.mark} src="/icon.svg" alt="" />
        <span className={styles.name}>Helve</span>
        {onClose && <IconButton icon="close" label={t.app.closeMenu} onClick={onClose} />}
      </div>
      <button type="button" className={styles.new} onClick={onNew}>
        <Icon name="plus" />
        {t.conversations.start}
        <kbd className={styles.keys}>{SHORTCUT_NEW}</kbd>
      </button>
      {children}
      <div className={styles.foot}>
        <span className={styles.user} title={user ?? undefined}>
          {user}
        </span>
        {settings}
      </div>
    </>
  );
}
