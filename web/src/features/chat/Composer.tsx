import { ComposerPrimitive, useAuiState } from '@assistant-ui/react';
import { useState, useSyncExternalStore } from 'react';
import { messageOfError } from '@/api/errors';
import { getReach, subscribeReach } from '@/api/reachability';
import { useI18n } from '@/lib/i18n/locale';
import { Button } from '@/ui/Button';
import { Icon } from '@/ui/Icon';
import { Notice } from '@/ui/Notice';
import { ServerMessage } from '@/ui/ServerMessage';
import { type RunState, isLeftAlone } from './run-state';
import { ConversationCost } from './AnswerCost';
import { useChat } from './chat-context';
import type { ChatState } from './chat-state';
import styles from './Composer.module.css';
import type { PaidStep } from './spent';
import { useDraft } from './use-draft';

interface Props {
  state: ChatState;
  /** The run that is not over; while there is one, messages go to it. */
  active: RunState | null;
  /** Whether a message is on its way and its run is not known yet. */
  isSending: boolean;
  /** What the conversation took so far. */
  steps: PaidStep[];
}

/** Where messages are written, sent and stopped, and where the page says how the connection is. */
export function Composer({ state, active, isSending, steps }: Props) {
  const { t } = useI18n();
  const { session } = useChat();
  useDraft(session, state.sending?.error ? state.sending.text : '');
  return (
    <div className={styles.dock}>
      <div className={styles.area}>
        <Connection state={state} isActive={active !== null} />
        <ComposerPrimitive.Root className={styles.composer}>
          <ComposerPrimitive.Input
            id="composer"
            className={styles.input}
            aria-label={t.chat.message}
            placeholder={active === null ? t.chat.placeholder : t.chat.placeholderBusy}
            // oxlint-disable-next-line jsx-a11y/no-autofocus -- writing is what one comes here for
            autoFocus={window.matchMedia('(pointer: fine)').matches}
            cancelOnEscape={false}
            maxRows={10}
            rows={1}
          />
          {(active !== null || isSending) && <StopButton key={active?.run} isReady={active !== null} />}
          {!isSending && <SendButton isToRun={active !== null} />}
        </ComposerPrimitive.Root>
        <div className={styles.under}>
          {active !== null && isLeftAlone(active) ? (
            <LeftAlone key={active.run} />
          ) : (
            <Hint phase={isSending ? 'running' : (active?.phase ?? null)} />
          )}
          <ConversationCost steps={steps} />
        </div>
      </div>
    </div>
  );
}

/** While a run is at work there is something to send only once it is written. */
function SendButton({ isToRun }: { isToRun: boolean }) {
  const { t } = useI18n();
  const isEmpty = useAuiState(({ composer }) => composer.isEmpty);
  if (isToRun && isEmpty) return null;
  const label = isToRun ? t.chat.sendNow : t.chat.send;
  return (
    <ComposerPrimitive.Send className={styles.round} aria-label={label} title={label}>
      <Icon name="send" size={20} />
    </ComposerPrimitive.Send>
  );
}

function StopButton({ isReady }: { isReady: boolean }) {
  const { t } = useI18n();
  const { session } = useChat();
  const [isStopping, setStopping] = useState(false);
  const stop = () => {
    setStopping(true);
    session.cancel().catch(() => setStopping(false));
  };
  const label = isStopping ? t.chat.stopping : t.chat.stop;
  return (
    <button
      type="button"
      className={`${styles.round} ${styles.stop}`}
      aria-label={label}
      title={label}
      disabled={isStopping || !isReady}
      onClick={stop}
    >
      <Icon name="stop" size={18} />
    </button>
  );
}

/** A run that ended the server too often waits for a person to say that it shall go on. */
function LeftAlone() {
  const { t } = useI18n();
  const { session } = useChat();
  const [problem, setProblem] = useState<Error | null>(null);
  const goOn = () => {
    session.resume().catch((error: unknown) => setProblem(error instanceof Error ? error : new Error(String(error))));
  };
  return (
    <div className={`${styles.hint} ${styles.attention}`}>
      {problem ? <ServerMessage coded={[messageOfError(problem)]} message={problem.message} /> : t.chat.hintLeftAlone}{' '}
      <Button size="small" onClick={goOn}>
        {t.chat.goOn}
      </Button>
    </div>
  );
}

function Hint({ phase }: { phase: RunState['phase'] | null }) {
  const { t } = useI18n();
  if (phase === null) return <p className={`${styles.hint} ${styles.keys}`}>{t.chat.hintKeys}</p>;
  switch (phase) {
    case 'waiting_approval':
    case 'needs_attention':
      return <p className={`${styles.hint} ${styles.attention}`}>{t.chat.hintApproval}</p>;
    case 'waiting_client':
      return <p className={`${styles.hint} ${styles.attention}`}>{t.chat.hintClient}</p>;
    default:
      return <p className={styles.hint}>{t.chat.hintBusy}</p>;
  }
}

function Connection({ state, isActive }: { state: ChatState; isActive: boolean }) {
  const reach = useSyncExternalStore(subscribeReach, getReach);
  const { t } = useI18n();
  const { session } = useChat();
  if (state.error !== null) {
    const again = (
      <Button size="small" onClick={() => session.retry()}>
        {t.app.retry}
      </Button>
    );
    return (
      <div className={styles.bar}>
        <Notice
          tone="bad"
          title={t.app.wentWrong}
          detail={<ServerMessage coded={[messageOfError(state.error)]} message={state.error.message} />}
          actions={again}
        />
      </div>
    );
  }
  // That the server does not answer is said at the top of the page, once.
  if (state.link === 'live' || !isActive || reach === 'down') return null;
  return (
    <div className={styles.bar}>
      <Notice tone="warn" icon="offline" title={t.chat.lost} />
    </div>
  );
}
