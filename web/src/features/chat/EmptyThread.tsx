import type { ReactNode } from 'react';
import type { Agent } from '@/api/catalog';
import { useI18n } from '@/lib/i18n/locale';
import { Icon, type IconName } from '@/ui/Icon';
import { showAgent } from './agent-texts';
import { useChat } from './chat-context';
import styles from './EmptyThread.module.css';

const ICONS: IconName[] = ['tool', 'clock', 'code', 'shield'];

/** So many of an agent's questions are shown. */
const QUESTIONS_MAX = 6;

/**
 * What a new conversation looks like: what the agent is for and questions to begin with, or else one thing to try for
 * each thing that is special here.
 */
export function EmptyThread({ agent }: { agent: Agent | null }) {
  const { t, tag } = useI18n();
  const { ask } = useChat();
  const shown = agent && showAgent(agent, tag);
  const questions = shown?.questions.slice(0, QUESTIONS_MAX).map((text) => ({ title: '', text })) ?? [];
  const suggestions = questions.length > 0 ? questions : t.chat.suggestions;
  return (
    <div className={styles.empty}>
      <img className={styles.mark} src="/icon.svg" alt="" />
      <h1 className={styles.greeting}>{t.chat.greeting}</h1>
      <p className={styles.introduction}>{shown?.description || t.chat.introduction}</p>
      <ul className={styles.suggestions}>
        {suggestions.map(({ title, text }, index) => (
          <li key={text}>
            <button type="button" className={styles.suggestion} onClick={() => ask(text)}>
              <span className={styles.icon}>
                <Icon name={ICONS[index] ?? 'tool'} />
              </span>
              <span>
                {title && <span className={styles.title}>{title}</span>}
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
