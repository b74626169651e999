import { useState } from 'react';
import type { Conversation } from '@/api/conversations';
import { messageOfError } from '@/api/errors';
import { useI18n } from '@/lib/i18n/locale';
import { pathOf } from '@/lib/paths';
import { Button, IconButton } from '@/ui/Button';
import { Menu, MenuItem } from '@/ui/Menu';
import { Notice } from '@/ui/Notice';
import { ServerMessage } from '@/ui/ServerMessage';
import { lazyPart } from '@/ui/lazy-part';
import { useNow } from '@/ui/use-now';
import styles from './ConversationList.module.css';
import { byAge } from './list-state';
import type { Conversations } from './use-conversations';

const RemoveDialog = lazyPart(async () => (await import('./RemoveDialog')).RemoveDialog);
const RenameDialog = lazyPart(async () => (await import('./RenameDialog')).RenameDialog);

interface Props {
  conversations: Conversations;
  current: string | null;
  /** Runs that wait. */
  waiting: ReadonlySet<string>;
  onOpen: (id: string) => void;
  onRemoved: (id: string) => void;
}

type Asking = { what: 'rename' | 'remove'; conversation: Conversation } | null;

export function ConversationList({ conversations, current, waiting, onOpen, onRemoved }: Props) {
  const { t } = useI18n();
  const [asking, setAsking] = useState<Asking>(null);
  const now = useNow(false);
  const { error, isLoaded, hasMore } = conversations;
  return (
    <nav className={styles.list} aria-label={t.conversations.title}>
      {error && (
        <Notice
          tone="bad"
          title={t.app.wentWrong}
          detail={<ServerMessage coded={[messageOfError(error)]} message={error.message} />}
          actions={<Button onClick={conversations.refresh}>{t.app.retry}</Button>}
        />
      )}
      {isLoaded && conversations.conversations.length === 0 && <p className={styles.none}>{t.conversations.none}</p>}
      {byAge(conversations.conversations, now).map((group) => (
        <section key={`${group.age}-${group.conversations[0]?.id}`}>
          <h2 className={styles.heading}>{t.conversations.ages[group.age]}</h2>
          <ul className={styles.items}>
            {group.conversations.map((conversation) => (
              <Item
                key={conversation.id}
                conversation={conversation}
                isCurrent={conversation.id === current}
                isWaiting={waiting.has(conversation.active_run ?? '')}
                onOpen={() => onOpen(conversation.id)}
                onAsk={(what) => setAsking({ what, conversation })}
              />
            ))}
          </ul>
        </section>
      ))}
      {hasMore && (
        <div className={styles.more}>
          <Button size="small" look="quiet" onClick={conversations.showMore}>
            {t.conversations.showMore}
          </Button>
        </div>
      )}
      {asking?.what === 'rename' && (
        <RenameDialog
          conversation={asking.conversation}
          rename={conversations.rename}
          onClose={() => setAsking(null)}
        />
      )}
      {asking?.what === 'remove' && (
        <RemoveDialog
          conversation={asking.conversation}
          remove={async (id) => {
            await conversations.remove(id);
            onRemoved(id);
          }}
          onClose={() => setAsking(null)}
        />
      )}
    </nav>
  );
}

interface ItemProps {
  conversation: Conversation;
  isCurrent: boolean;
  isWaiting: boolean;
  onOpen: () => void;
  onAsk: (what: 'rename' | 'remove') => void;
}

function Item({ conversation, isCurrent, isWaiting, onOpen, onAsk }: ItemProps) {
  const { t } = useI18n();
  const title = conversation.title || t.conversations.untitled;
  return (
    <li className={isCurrent ? `${styles.item} ${styles.current}` : styles.item}>
      <a
        className={styles.link}
        href={pathOf({ page: 'conversation', id: conversation.id })}
        aria-current={isCurrent ? 'page' : undefined}
        title={title}
        onClick={(event) => {
          // A new tab is the browser's business.
          if (event.metaKey || event.ctrlKey || event.shiftKey || event.button !== 0) return;
          event.preventDefault();
          onOpen();
        }}
      >
        <span className={styles.title} data-written-by="user">
          {title}
        </span>
        {conversation.active_run && (
          <span
            className={isWaiting ? styles.waiting : styles.running}
            role="img"
            aria-label={isWaiting ? t.conversations.waiting : t.conversations.running}
            title={isWaiting ? t.conversations.waiting : t.conversations.running}
          />
        )}
      </a>
      <span className={styles.actions}>
        <Menu
          label={t.conversations.actions(title)}
          trigger={(props) => <IconButton {...props} size="small" icon="more" label={t.conversations.actions(title)} />}
        >
          <MenuItem icon="pencil" onSelect={() => onAsk('rename')}>
            {t.conversations.rename}
          </MenuItem>
          <MenuItem icon="trash" danger onSelect={() => onAsk('remove')}>
            {t.conversations.remove}
          </MenuItem>
        </Menu>
      </span>
    </li>
  );
}
