import type { ReactNode } from 'react';
import { Icon, type IconName } from './Icon';
import styles from './Notice.module.css';

interface Props {
  tone?: 'calm' | 'warn' | 'bad';
  icon?: IconName;
  title: ReactNode;
  detail?: ReactNode;
  /** What can be done about it. */
  actions?: ReactNode;
}

/** Says something where it belongs. What went wrong is said at once to those who listen. */
export function Notice({ tone = 'calm', icon, title, detail, actions }: Props) {
  const picture = icon ?? (tone === 'calm' ? 'clock' : 'alert');
  return (
    <div className={`${styles.notice} ${styles[tone] ?? ''}`} role={tone === 'bad' ? 'alert' : 'status'}>
      <span className={styles.icon}>
        <Icon name={picture} />
      </span>
      <div className={styles.words}>
        <div className={styles.title}>{title}</div>
        {detail && <div className={styles.detail}>{detail}</div>}
        {actions && <div className={styles.actions}>{actions}</div>}
      </div>
    </div>
  );
}
