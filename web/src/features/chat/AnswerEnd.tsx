import { type ReactNode } from 'react';
import { useSpeech } from '@/lib/i18n/locale';
import { Button } from '@/ui/Button';
import { Notice } from '@/ui/Notice';
import { useChat } from './chat-context';
import { keptNotice } from './kept-items';
import type { RunState } from './run-state';
import { useEntry } from './use-entry';

/** Says how an answer ended, if it did not simply end. */
export function AnswerEnd(): ReactNode {
  const entry = useEntry();
  if (entry?.kind === 'run') return <RunEnd run={entry.run} />;
  const notice = entry?.kind === 'kept' ? keptNotice(entry.message) : null;
  return notice === null ? null : <Failed message={notice} />;
}

function RunEnd({ run }: { run: RunState }): ReactNode {
  const { t } = useSpeech();
  const { ask, me } = useChat();
  const { end, asked } = run;
  if (end === null) return null;
  switch (end.how) {
    case 'cancelled':
      return <Notice icon="stop" title={t.chat.stopped(end.by === me ? null : end.by)} />;
    case 'failed': {
      const again = asked && (
        <Button size="small" onClick={() => ask(asked.text)}>
          {t.chat.askAgain}
        </Button>
      );
      return <Failed message={end.message} actions={again} />;
    }
    case 'finished':
      if (end.ending === 'budget_spent') {
        return <Notice tone="warn" title={t.chat.budgetSpent} detail={run.budgetSpent ?? undefined} />;
      }
      if (end.ending === 'step_limit') return <Notice tone="warn" title={t.chat.stepLimit} />;
      return end.ending === 'repeating' ? <Notice tone="warn" title={t.chat.repeating} /> : null;
  }
}

function Failed({ message, actions }: { message: string; actions?: ReactNode }) {
  const { t } = useSpeech();
  return <Notice tone="bad" title={t.chat.failed} detail={message} actions={actions} />;
}
