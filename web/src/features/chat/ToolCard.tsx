import { type ReactNode, memo, useId, useState } from 'react';
import { useI18n } from '@/lib/i18n/locale';
import { own } from '@/lib/own';
import { formatDuration } from '@/lib/time';
import { VisibleText } from '@/ui/Code';
import { Icon, type IconName } from '@/ui/Icon';
import { lazyPart } from '@/ui/lazy-part';
import { ServerMessage } from '@/ui/ServerMessage';
import { Spinner } from '@/ui/Spinner';
import {
  type ShownState,
  asksPerson,
  isCached,
  labelsOf,
  shownState,
  standIn,
  summaryOf,
  tookMs,
  waitsForPage,
} from './call-view';
import { useChat } from './chat-context';
import type { CallPlace } from './thread-messages';
import styles from './ToolCard.module.css';
import { useWholeCall } from './use-whole-call';

const Attachments = lazyPart(async () => (await import('./Attachments')).Attachments);
const BrowserCode = lazyPart(async () => (await import('./BrowserCode')).BrowserCode);
const ToolDetails = lazyPart(async () => (await import('./ToolDetails')).ToolDetails);

const ICONS: Record<ShownState, IconName | null> = {
  writing: null,
  requested: 'clock',
  asked: 'shield',
  approved: 'clock',
  delegated: 'play',
  claimed: null,
  running: null,
  finished: 'check',
  failed: 'alert',
  refused: 'block',
  expired: 'block',
  unknown: 'question',
  stopped: 'block',
};

/** One call: what it is and where it stands, and on demand everything about it. */
export const ToolCard = memo(function ToolCard({ place }: { place: CallPlace }) {
  const { t, translate } = useI18n();
  const { titleOf } = useChat();
  const [isOpen, setOpen] = useState(false);
  const id = useId();
  const call = useWholeCall(place, isOpen);
  const state = shownState(place);
  const name = titleOf(call.tool);
  const asks = asksPerson(call);
  const stateWord = state === 'asked' && asks ? t.tools.asksYou : t.tools.states[state];
  return (
    <article className={`${styles.card} ${styles[state] ?? ''}`} aria-label={`${name}: ${stateWord}`}>
      <button
        type="button"
        className={styles.head}
        aria-expanded={isOpen}
        aria-controls={id}
        onClick={() => setOpen(!isOpen)}
      >
        <span className={styles.icon}>
          <StateIcon name={state === 'asked' && asks ? 'question' : ICONS[state]} />
        </span>
        <span className={styles.name}>
          <VisibleText text={name} />
        </span>
        <span className={styles.summary} data-written-by={call.output?.headline ? undefined : 'tool'}>
          <VisibleText text={summaryOf(call, translate)} />
        </span>
        <span className={styles.state}>
          <StateWords call={call} state={state} />
          <span className={isOpen ? `${styles.chevron} ${styles.open}` : styles.chevron}>
            <Icon name="chevron" size={14} />
          </span>
        </span>
      </button>
      <Attention place={{ ...place, call }} />
      {isOpen && (
        <div id={id} className={styles.body}>
          <ToolDetails call={call} run={place.run} />
        </div>
      )}
    </article>
  );
});

function StateIcon({ name }: { name: IconName | null }) {
  return name === null ? <Spinner /> : <Icon name={name} size={17} />;
}

function StateWords({ call, state }: { call: CallPlace['call']; state: ShownState }): ReactNode {
  const { t, tag, translate } = useI18n();
  const { titleOf } = useChat();
  const word = state === 'asked' && asksPerson(call) ? t.tools.asksYou : t.tools.states[state];
  const took = state === 'finished' ? tookMs(call) : null;
  const instead = state === 'finished' ? standIn(call) : null;
  const labels = labelsOf(call);
  const nameOf = (source: string) => own(t.tools.sources, source) ?? titleOf(source);
  const source =
    labels &&
    [labels.source, labels.place]
      .filter((one) => one !== null)
      .map(nameOf)
      .join(' · ');
  return (
    <>
      {took === null ? word : `${t.tools.states[state]} · ${formatDuration(took, tag)}`}
      {isCached(call) && (
        <span className={styles.tag} title={t.tools.cachedHint}>
          {t.tools.cached}
        </span>
      )}
      {instead && (
        <span
          className={`${styles.tag} ${styles.instead}`}
          title={t.tools.stage.instead(instead.by, (instead.notice && translate(instead.notice)) ?? instead.because)}
        >
          {t.tools.instead(instead.by)}
        </span>
      )}
      {labels?.isPrivate && (
        <span className={styles.tag} title={t.tools.labels.privateHint(source ?? '')}>
          {t.tools.labels.private}
        </span>
      )}
      {labels?.isUntrusted && (
        <span className={`${styles.tag} ${styles.instead}`} title={t.tools.labels.untrustedHint(source ?? '')}>
          {t.tools.labels.untrusted}
        </span>
      )}
    </>
  );
}

/** What a person has to do about the call, or to know at once. */
function Attention({ place }: { place: CallPlace }): ReactNode {
  const { t } = useI18n();
  const { ApprovalView } = useChat();
  const { call, run, isOver } = place;
  const { approval } = call;
  const parts: ReactNode[] = [];
  if (approval) {
    // A call may be asked about twice: whether it may run, and what became of it. Each question has a state of its own.
    const { approval: id } = approval.question;
    parts.push(<ApprovalView key={id} approval={approval} isOpen={!isOver && approval.settled === null} />);
  }
  if (waitsForPage(call) && !isOver && run !== null && call.call !== null) {
    const { call: id, input, claimedBy } = call;
    parts.push(<BrowserCode key={id} run={run} call={id} input={input} claimedBy={claimedBy} />);
  }
  // The question about an unknown outcome has the reason.
  if (call.failure && !(call.state === 'unknown' && approval)) {
    parts.push(
      <div key="failure" className={styles.error}>
        <ServerMessage
          coded={[call.failure.notice, { code: call.failure.kind }]}
          message={call.failure.message}
          summary={t.app.toldModel}
        />
      </div>,
    );
  }
  // What was asked for is looked at, not searched for.
  if (call.output?.attachments && call.output.attachments.length > 0) {
    parts.push(<Attachments key="attachments" attachments={call.output.attachments} />);
  }
  return parts.length === 0 ? null : <div className={styles.body}>{parts}</div>;
}
