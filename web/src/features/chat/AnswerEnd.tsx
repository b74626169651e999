import { type ReactNode } from 'react';
import type { Notice as CodedMessage } from '@/api/generated/events';
import { useI18n } from '@/lib/i18n/locale';
import { own } from '@/lib/own';
import { Button } from '@/ui/Button';
import { Notice } from '@/ui/Notice';
import { ServerMessage } from '@/ui/ServerMessage';
import { useChat } from './chat-context';
import { type KeptNotice, keptNotices } from './kept-items';
import type { RunState } from './run-state';
import { useEntry } from './use-entry';

/** Says how an answer ended, if it did not simply end. */
export function AnswerEnd(): ReactNode {
  const entry = useEntry();
  if (entry?.kind === 'run') return <RunEnd run={entry.run} />;
  if (entry?.kind !== 'kept') return null;
  return keptNotices(entry.message).map((notice) => (
    <KeptEnd key={notice.code ?? ''} notice={notice} entry={entry.id} />
  ));
}

/** The same as a run that was followed here says at its end. */
function KeptEnd({ notice, entry }: { notice: KeptNotice; entry: string }): ReactNode {
  const { t } = useI18n();
  const { me } = useChat();
  const { code, text, by } = notice;
  switch (code) {
    case 'cancelled':
      return <Stopped by={by ?? me} />;
    case 'budget_spent':
      return <BudgetSpent because={text} notice={notice.notice ?? null} />;
    case 'unheard':
      return <Notice title={t.chat.notHeard} />;
    default:
      if (own(t.chat.endings, code ?? '') !== undefined) return <Ended ending={code ?? ''} />;
      return <Failed code={code ?? ''} message={text} notice={notice.notice ?? null} entry={entry} />;
  }
}

function Stopped({ by }: { by: string | null }) {
  const { t } = useI18n();
  const { me } = useChat();
  return <Notice icon="stop" title={t.chat.stopped(by === me ? null : by)} />;
}

function BudgetSpent({ because, notice }: { because: string | null; notice: CodedMessage | null }) {
  const { t } = useI18n();
  const detail = because && notice && <ServerMessage coded={[notice]} message={because} />;
  return <Notice tone="warn" title={t.chat.budgetSpent} detail={detail} />;
}

function RunEnd({ run }: { run: RunState }): ReactNode {
  const { end } = run;
  if (end === null) return null;
  switch (end.how) {
    case 'cancelled':
      return <Stopped by={end.by} />;
    case 'failed':
      return <Failed code={end.code} message={end.message} notice={end.notice} entry={run.run} />;
    case 'finished':
      if (end.ending === 'budget_spent')
        return <BudgetSpent because={run.budgetSpent?.because ?? null} notice={run.budgetSpent?.notice ?? null} />;
      return <Ended ending={end.ending} />;
  }
}

/** Why there is no more of a complete answer; nothing where it simply ends. */
function Ended({ ending }: { ending: string }): ReactNode {
  const { t } = useI18n();
  const title = own(t.chat.endings, ending);
  return title === undefined ? null : <Notice tone="warn" title={title} />;
}

interface Failure {
  code: string;
  message: string;
  /** What exactly it was, where the code says less. */
  notice: CodedMessage | null;
  entry: string;
}

function Failed({ code, message, notice, entry }: Failure) {
  const { t } = useI18n();
  const { askAgain } = useChat();
  const actions = (
    <Button size="small" onClick={() => askAgain(entry)}>
      {t.chat.askAgain}
    </Button>
  );
  return (
    <Notice
      tone="bad"
      title={t.chat.failed}
      detail={<ServerMessage coded={[notice, { code }]} message={message} />}
      actions={actions}
    />
  );
}
