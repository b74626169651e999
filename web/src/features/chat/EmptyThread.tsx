import type { ReactNode } from 'react';
import { useI18n } from '@/lib/i18n/locale';
import { Icon, type IconName } from '@/ui/Icon';
import { useChat } from './chat-context';
import styles from './EmptyThread.module.css';

const ICONS: IconName[] = ['tool', 'clock', 'code', 'shield'];

/** What a new conversation looks like: one sentence, and one thing to try for each thing that is special here. */
export function EmptyThread() {
  const { t } = useI18n();
  const { ask } = useChat();
  return (
    <div className={styles.empty}>
      <img className={styles.mark} src="/icon.svg" alt="" />
      <h1 className={styles.greeting}>{t.chat.greeting}</h1>
      <p className={styles.introduction}>{t.chat.introduction}</p>
      <ul className={styles.suggestions}>
        {t.chat.suggestions.map(({ title, text }, index) => (
          <li key={title}>
            <button type="button" className={styles.suggestion} onClick={() => ask(text)}>
              <span className={styles.icon}>
                <Icon name={ICONS[index] ?? 'tool'} />
              </span>
              <span>
                <span className={styles.title}>{title}</span>
                <span className={styles.text}>{inlineCode(text)}</span>
              </span>
            </button>
          </li>
        ))}
      </ul>
    </div>
  );
}

/** What stands between backticks is code, and is shown as such. */
function inlineCode(text: string): ReactNode {
  return text.split('`').map((part, index) => (index % 2 === 1 ? <code key={index}>{part}</code> : part));
}
