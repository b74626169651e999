import { useState } from 'react';
import type { Conversation } from '@/api/conversations';
import { ApiError, messageOfError } from '@/api/errors';
import { useI18n } from '@/lib/i18n/locale';
import { Button } from '@/ui/Button';
import { Dialog } from '@/ui/Dialog';
import { Notice } from '@/ui/Notice';
import { ServerMessage } from '@/ui/ServerMessage';
import styles from './ConversationList.module.css';

interface Props {
  conversation: Conversation;
  remove: (id: string) => Promise<void>;
  onClose: () => void;
}

export function RemoveDialog({ conversation, remove, onClose }: Props) {
  const { t } = useI18n();
  const [error, setError] = useState<Error | null>(null);
  const [isBusy, setBusy] = useState(false);
  const submit = () => {
    setBusy(true);
    remove(conversation.id).then(onClose, (reason: Error) => {
      setBusy(false);
      setError(reason);
    });
  };
  const isRunning = error instanceof ApiError && error.status === 409;
  return (
    <Dialog title={t.conversations.removeTitle} onClose={onClose}>
      <div className={styles.form}>
        <p>{t.conversations.removeText(conversation.title || t.conversations.untitled)}</p>
        {error && (
          <Notice
            tone="bad"
            title={
              isRunning ? (
                t.conversations.busy
              ) : (
                <ServerMessage coded={[messageOfError(error)]} message={error.message} />
              )
            }
          />
        )}
        <div className={styles.buttons}>
          <Button look="quiet" onClick={onClose}>
            {t.app.cancel}
          </Button>
          <Button look="danger" icon="trash" disabled={isBusy} onClick={submit}>
            {t.conversations.remove}
          </Button>
        </div>
      </div>
    </Dialog>
  );
}
