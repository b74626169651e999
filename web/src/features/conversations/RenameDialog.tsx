import { type FormEvent, useState } from 'react';
import { messageOfError } from '@/api/errors';
import type { Conversation } from '@/api/conversations';
import { useI18n } from '@/lib/i18n/locale';
import { Button } from '@/ui/Button';
import { Dialog } from '@/ui/Dialog';
import { Notice } from '@/ui/Notice';
import { ServerMessage } from '@/ui/ServerMessage';
import styles from './ConversationList.module.css';

interface Props {
  conversation: Conversation;
  rename: (id: string, title: string) => Promise<void>;
  onClose: () => void;
}

export function RenameDialog({ conversation, rename, onClose }: Props) {
  const { t } = useI18n();
  const [title, setTitle] = useState(conversation.title);
  const [error, setError] = useState<Error | null>(null);
  const submit = (event: FormEvent) => {
    event.preventDefault();
    rename(conversation.id, title.trim()).then(onClose, setError);
  };
  return (
    <Dialog title={t.conversations.rename} onClose={onClose}>
      <form className={styles.form} onSubmit={submit}>
        <label className={styles.field}>
          {t.conversations.renameLabel}
          <input
            className={styles.input}
            value={title}
            maxLength={200}
            // oxlint-disable-next-line jsx-a11y/no-autofocus -- the only field of a dialog that was asked for
            autoFocus
            onChange={(event) => setTitle(event.target.value)}
          />
        </label>
        {error && (
          <Notice tone="bad" title={<ServerMessage coded={[messageOfError(error)]} message={error.message} />} />
        )}
        <div className={styles.buttons}>
          <Button look="quiet" onClick={onClose}>
            {t.app.cancel}
          </Button>
          <Button look="primary" type="submit" disabled={title.trim() === ''}>
            {t.conversations.save}
          </Button>
        </div>
      </form>
    </Dialog>
  );
}
