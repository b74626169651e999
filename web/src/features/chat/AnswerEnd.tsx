import { type ReactNode } from 'react';
import { useSpeech } from '@/lib/i18n/locale';
import { Button } from '@/ui/Button';
import { Notice } from '@/ui/Notice';
import { ServerWords } from '@/ui/ServerWords';
import { useChat } from './chat-context';
import { keptNotice } from './kept-items';
import type { RunState } from './run-state';
import { useEntry } from './use-entry';

/** Says how an answer ended, if it did not simply end. */
export function AnswerEnd(): ReactNode {
  const entry = useEntry();
  if (entry?.kind === 'run') return <RunEnd run={entry.run} />;
  const notice = entry?.kind === 'kept' ? keptNotice(entry.message) : null;
  return notice === null || entry === undefined ? null : <Failed code="" message={notice} entry={entry.id} />;
}

function RunEnd({ run }: { run: RunState }): ReactNode {
  const { t } = useSpeech();
  const { me } = useChat();
  const { end } = run;
  if (end === null) return null;
  switch (end.how) {
    case 'cancelled':
      return <Notice icon="stop" title={t.chat.stopped(end.by === me ? null : end.by)} />;
    case 'failed':
      return <Failed code={end.code} message={end.message} entry={run.run} />;
    case 'finished':
      if (end.ending === 'budget_spent') {
        return (
          <Notice
            tone="warn"
            title={t.chat.budgetSpent}
            detail={run.budgetSpent && <ServerWords code="budget_spent" message={run.budgetSpent} />}
          />
        );
      }
      if (end.ending === 'step_limit') return <Notice tone="warn" title={t.chat.stepLimit} />;
      return end.ending === 'repeating' ? <Notice tone="warn" title={t.chat.repeating} /> : null;
  }
}

function Failed({ code, message, entry }: { code: string; message: string; entry: string }) {
  const { t } = useSpeech();
  const { askAgain } = useChat();
  const actions = (
    <Button size="small" onClick={() => askAgain(entry)}>
      {t.chat.askAgain}
    </Button>
  );
  return (
    <Notice tone="bad" title={t.chat.failed} detail={<ServerWords code={code} message={message} />} actions={actions} />
  );
}
