import { type AppendMessage, AssistantRuntimeProvider, useExternalStoreRuntime } from '@assistant-ui/react';
import { type ComponentType, useEffect, useMemo, useSyncExternalStore } from 'react';
import type { Agent, Tool } from '@/api/catalog';
import { useI18n } from '@/lib/i18n/locale';
import { own } from '@/lib/own';
import { Announcer } from '@/ui/Announcer';
import { type ApprovalViewProps, ChatContext } from './chat-context';
import type { ChatSession, Choice } from './chat-session';
import { type ChatState, activeRun, askedBefore, entriesOf } from './chat-state';
import { BROWSER_JS_EVAL } from './client-tools';
import { Composer } from './Composer';
import { isLeftAlone } from './run-state';
import { stepsOf } from './spent';
import { Thread } from './Thread';
import { toThreadMessage } from './thread-messages';

interface Props {
  session: ChatSession;
  me: string | null;
  choice: Choice;
  /** The agent that is asked, if it is known. */
  agent: Agent | null;
  tools: Tool[];
  currency: string;
  ApprovalView: ComponentType<ApprovalViewProps>;
}

/** One conversation: its thread and the place to write. */
export function ChatView({ session, me, choice, agent, tools, currency, ApprovalView }: Props) {
  const state = useSyncExternalStore(session.subscribe, session.getState);
  const entries = useMemo(() => entriesOf(state), [state]);
  const steps = useMemo(() => entries.flatMap(stepsOf), [entries]);
  const active = activeRun(state);
  const { t } = useI18n();
  const isSending = state.sending !== null && state.sending.error === null;
  useRefreshOnReturn(session);

  // While a run is at work, what is written goes to it instead of starting another.
  const queue = useMemo(() => {
    const send = (message: AppendMessage) => void session.sendMessage(textOf(message), choice);
    return { items: [], steerItems: [], enqueue: send, steer: send, move: () => {}, edit: () => {}, remove: () => {} };
  }, [session, choice]);

  const runtime = useExternalStoreRuntime({
    messages: entries,
    convertMessage: toThreadMessage,
    isRunning: active !== null || isSending,
    isSendDisabled: state.history.status !== 'ready' || isSending,
    onNew: async (message) => session.send(textOf(message), choice),
    onCancel: () => session.cancel(),
    queue: active === null ? undefined : queue,
  });

  const chat = useMemo(() => {
    const titles = new Map(
      tools.map((tool) => [tool.name, own(t.tools.names, tool.name) ?? tool.display_name ?? tool.name]),
    );
    titles.set(BROWSER_JS_EVAL, t.browserCode.name);
    return {
      session,
      me,
      tools,
      currency,
      ApprovalView,
      titleOf: (tool: string) => titles.get(tool) ?? tool,
      ask: (text: string) => void session.send(text, choice),
      askAgain: (entry: string) => {
        const asked = askedBefore(entriesOf(session.getState()), entry);
        if (asked !== null) void session.send(asked, choice);
      },
      sendAgain: () => void session.sendAgain(choice),
    };
  }, [session, me, choice, tools, currency, ApprovalView, t]);

  return (
    <ChatContext value={chat}>
      <AssistantRuntimeProvider runtime={runtime}>
        <Thread state={state} isMoving={active !== null || isSending} agent={agent} />
        <Composer state={state} active={active} isSending={isSending} steps={steps} />
        <Announcer text={useAnnouncement(state)} />
      </AssistantRuntimeProvider>
    </ChatContext>
  );
}

function textOf({ content }: AppendMessage): string {
  return content.map((part) => (part.type === 'text' ? part.text : '')).join('');
}

/** Another window may have gone on meanwhile. */
function useRefreshOnReturn(session: ChatSession): void {
  useEffect(() => {
    const refresh = () => {
      if (document.visibilityState === 'visible') void session.refresh();
    };
    window.addEventListener('focus', refresh);
    document.addEventListener('visibilitychange', refresh);
    return () => {
      window.removeEventListener('focus', refresh);
      document.removeEventListener('visibilitychange', refresh);
    };
  }, [session]);
}

/** Streaming text is not read out piece by piece; what changed in the large is. */
function useAnnouncement(state: ChatState): string {
  const { t } = useI18n();
  const last = state.runs.at(-1);
  if (last === undefined) return '';
  if (isLeftAlone(last)) return t.chat.hintLeftAlone;
  switch (last.phase) {
    case 'waiting_approval':
    case 'needs_attention':
      return t.chat.hintApproval;
    case 'waiting_client':
      return t.chat.hintClient;
    case 'completed':
      return t.chat.finished;
    case 'running':
      return t.chat.working;
    default:
      return '';
  }
}
