import { useCallback, useEffect, useMemo } from 'react';
import { getRun } from '@/api/runs';
import type { Session } from '@/api/session';
import { ApprovalInbox } from '@/features/approvals/ApprovalInbox';
import { usePendingApprovals } from '@/features/approvals/use-pending-approvals';
import { ChatView } from '@/features/chat/ChatView';
import { type ApprovalViewProps, useChat } from '@/features/chat/chat-context';
import { ModelPicker } from '@/features/chat/ModelPicker';
import { useCatalog } from '@/features/chat/use-catalog';
import { useChoice } from '@/features/chat/use-choice';
import { ConversationList } from '@/features/conversations/ConversationList';
import { useConversations } from '@/features/conversations/use-conversations';
import { useI18n } from '@/lib/i18n/locale';
import { IconButton } from '@/ui/Button';
import { lazyPart } from '@/ui/lazy-part';
import { useMediaQuery } from '@/ui/use-media-query';
import { Layout } from './Layout';
import { Settings } from './Settings';
import { Sidebar } from './Sidebar';
import { useChatSession } from './use-chat-session';
import { useRoute } from './use-route';
import { useShortcuts } from './use-shortcuts';

const ApprovalCard = lazyPart(async () => (await import('@/features/approvals/ApprovalCard')).ApprovalCard);

interface Props {
  session: Session;
  onSignOut: () => void;
}

/** Joins the features: conversations at the side, one of them in the middle, approvals on top. */
export function Page({ session, onSignOut }: Props) {
  const { t } = useI18n();
  const [route, go] = useRoute();
  const me = session.user ?? null;
  const id = route.page === 'conversation' ? route.id : null;
  const conversations = useConversations();
  const pending = usePendingApprovals();
  const waiting = useMemo(() => new Set(pending.approvals.map(({ run }) => run)), [pending.approvals]);
  const catalog = useCatalog();
  const choosing = useChoice(catalog);
  const isNarrow = useMediaQuery('(max-width: 820px)');
  const chat = useChatSession(id, {
    onCreated: (created) => go({ page: 'conversation', id: created }, 'replace'),
    onRun: () => {
      conversations.refresh();
      // A run that ends takes its questions with it.
      pending.refresh();
    },
    onApproval: pending.refresh,
  });
  const begin = useCallback(() => {
    go({ page: 'new' });
    document.getElementById('composer')?.focus();
  }, [go]);
  useShortcuts(begin);
  const title = conversations.conversations.find((known) => known.id === id)?.title ?? null;
  useTitle(title, pending.approvals.length);

  const openRun = (run: string) => {
    getRun(run).then(
      ({ conversation }) => conversation && go({ page: 'conversation', id: conversation }),
      () => {
        // The card stays where it is and can be answered there.
      },
    );
  };

  return (
    <Layout
      side={(close) => (
        <Sidebar
          user={me}
          onClose={isNarrow ? close : null}
          onNew={() => {
            close();
            begin();
          }}
          settings={
            <Settings
              who={session.needed ? (session.name ?? me) : null}
              onSignOut={session.needed ? onSignOut : null}
            />
          }
        >
          <ConversationList
            conversations={conversations}
            current={id}
            waiting={waiting}
            onOpen={(opened) => {
              close();
              go({ page: 'conversation', id: opened });
            }}
            onRemoved={(removed) => removed === id && go({ page: 'new' }, 'replace')}
          />
        </Sidebar>
      )}
      title={id === null ? null : title || t.conversations.untitled}
      picker={<ModelPicker catalog={catalog} choosing={choosing} />}
      tools={
        <>
          <ApprovalInbox pending={pending} me={me} tools={catalog.tools} onOpenRun={openRun} />
          {isNarrow && <IconButton icon="plus" label={t.conversations.start} onClick={begin} />}
        </>
      }
    >
      <ChatView
        key={chat.key}
        session={chat.session}
        me={me}
        choice={choosing.choice}
        agent={catalog.agents.find(({ name }) => name === (choosing.agent ?? 'default')) ?? null}
        tools={catalog.tools}
        currency={catalog.currency}
        ApprovalView={ApprovalView}
      />
    </Layout>
  );
}

/** The approvals' card as the chat wants it; neither feature knows the other. */
function ApprovalView({ approval, isOpen }: ApprovalViewProps) {
  const { me, tools } = useChat();
  return <ApprovalCard question={approval.question} me={me} tools={tools} settled={approval.settled} isOpen={isOpen} />;
}

function useTitle(conversation: string | null, waiting: number): void {
  useEffect(() => {
    document.title = `${waiting > 0 ? `(${waiting}) ` : ''}${conversation ? `${conversation} · ` : ''}Helve`;
  }, [conversation, waiting]);
}
