import { ThreadPrimitive } from '@assistant-ui/react';
import type { ReactNode } from 'react';
import type { Agent } from '@/api/catalog';
import { useI18n } from '@/lib/i18n/locale';
import { Button } from '@/ui/Button';
import { Icon } from '@/ui/Icon';
import { Notice } from '@/ui/Notice';
import { ServerMessage } from '@/ui/ServerMessage';
import { Spinner } from '@/ui/Spinner';
import { ApiError, messageOfError } from '@/api/errors';
import { AssistantMessage } from './AssistantMessage';
import type { ChatState } from './chat-state';
import { EmptyThread } from './EmptyThread';
import styles from './Thread.module.css';
import { UserMessage } from './UserMessage';
import { useChat } from './chat-context';
import { useLingering } from './use-lingering';

/** For so long the end of a thread is kept in view after it has come to rest. */
const SETTLE_MS = 600;

interface Props {
  state: ChatState;
  /** Whether something is being written; then its end is kept in view, and otherwise what a person looks at. */
  isMoving: boolean;
  /** The agent that is asked, if it is known. */
  agent: Agent | null;
}

/** The messages, and what stands in their place when there are none. */
export function Thread({ state, isMoving, agent }: Props) {
  const { t } = useI18n();
  const follows = useLingering(isMoving, SETTLE_MS);
  const { history, runs, sending } = state;
  const isEmpty = history.status === 'ready' && history.messages.length === 0 && runs.length === 0 && sending === null;
  return (
    <ThreadPrimitive.Root className={styles.thread}>
      {/* oxlint-disable-next-line jsx-a11y/no-noninteractive-tabindex -- it scrolls */}
      <ThreadPrimitive.Viewport
        autoScroll={follows}
        className={styles.viewport}
        role="region"
        aria-label={t.chat.label}
        tabIndex={0}
      >
        {isEmpty && <EmptyThread agent={agent} />}
        {history.status !== 'ready' && <NoHistory history={history} />}
        {!isEmpty && (
          <div className={styles.messages}>
            <ThreadPrimitive.Messages>
              {({ message }) => (message.role === 'user' ? <UserMessage /> : <AssistantMessage />)}
            </ThreadPrimitive.Messages>
          </div>
        )}
        <div className={styles.toBottomRow}>
          <ThreadPrimitive.ScrollToBottom
            className={styles.toBottom}
            aria-label={t.chat.toBottom}
            title={t.chat.toBottom}
          >
            <Icon name="toBottom" />
          </ThreadPrimitive.ScrollToBottom>
        </div>
      </ThreadPrimitive.Viewport>
    </ThreadPrimitive.Root>
  );
}

function NoHistory({ history }: { history: ChatState['history'] }): ReactNode {
  const { t } = useI18n();
  const { session } = useChat();
  if (history.status === 'failed') {
    const isGone = history.error instanceof ApiError && (history.error.status === 404 || history.error.status === 400);
    return (
      <div className={styles.middle}>
        <Notice
          tone="bad"
          title={isGone ? t.conversations.gone : t.app.wentWrong}
          detail={!isGone && <ServerMessage coded={[messageOfError(history.error)]} message={history.error.message} />}
          actions={!isGone && <Button onClick={() => void session.load()}>{t.app.retry}</Button>}
        />
      </div>
    );
  }
  return (
    <div className={styles.middle} role="status">
      <span className={styles.loading}>
        <Spinner /> {t.chat.loading}
      </span>
    </div>
  );
}
