import { MessagePrimitive } from '@assistant-ui/react';
import type { ReactNode } from 'react';
import { ApiError, messageOfError } from '@/api/errors';
import { useI18n } from '@/lib/i18n/locale';
import { Button } from '@/ui/Button';
import { Notice } from '@/ui/Notice';
import { ServerMessage } from '@/ui/ServerMessage';
import { useChat } from './chat-context';
import styles from './Message.module.css';
import { useEntry } from './use-entry';

export function UserMessage() {
  const { t } = useI18n();
  const { session, sendAgain } = useChat();
  const entry = useEntry();
  if (entry?.kind !== 'asked') return null;
  const { text, error } = entry;
  return (
    <MessagePrimitive.Root className={styles.asked} role="article" aria-label={t.chat.you}>
      <div
        className={error ? `${styles.bubble} ${styles.unsent}` : styles.bubble}
        lang={/\p{Script=Han}/u.test(text) ? 'zh' : undefined}
        data-written-by="user"
      >
        {text}
      </div>
      {error && (
        <div className={styles.unsentNotice}>
          <Notice
            tone="bad"
            title={t.chat.notSent}
            detail={<Reason error={error} />}
            actions={
              <>
                <Button size="small" onClick={sendAgain}>
                  {t.chat.sendAgain}
                </Button>
                <Button size="small" look="quiet" onClick={() => session.discard()}>
                  {t.chat.discard}
                </Button>
              </>
            }
          />
        </div>
      )}
    </MessagePrimitive.Root>
  );
}

/** What the server said, and what to do about it where that is known. */
function Reason({ error }: { error: Error }): ReactNode {
  const { t } = useI18n();
  if (!(error instanceof ApiError)) return t.app.unreachable;
  if (error.code === 'conversation_busy') return t.chat.busyElsewhere;
  return (
    <>
      <ServerMessage coded={[messageOfError(error)]} message={error.message} />
      {/model/.test(error.code) && <div>{t.chat.unknownModel}</div>}
    </>
  );
}
