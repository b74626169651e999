import { type FormEvent, useState } from 'react';
import type { CallQuestion } from '@/api/approvals';
import type { Answer } from '@/api/generated/events';
import type { Strings } from '@/lib/i18n/en';
import { useSpeech } from '@/lib/i18n/locale';
import { layOutJson } from '@/lib/json-text';
import { escapeHidden } from '@/lib/visible-text';
import { Button } from '@/ui/Button';
import styles from './ApprovalCard.module.css';
import { Decisions } from './Decisions';

/** The answers that need words. */
export type Form = 'edit' | 'reject' | 'respond';

interface Props {
  form: Form;
  question: CallQuestion;
  isBusy: boolean;
  onAnswer: (answer: Answer) => void;
  onBack: () => void;
}

export function AnswerForm({ form, question, isBusy, onAnswer, onBack }: Props) {
  const { t } = useSpeech();
  const [text, setText] = useState(() =>
    form === 'edit' ? escapeHidden(layOutJson(question.arguments) ?? question.arguments) : '',
  );
  const complaint = form === 'edit' ? jsonComplaint(text, t) : null;
  const isComplete = complaint === null && (form !== 'respond' || text.trim() !== '');
  const labels = {
    edit: [t.approvals.editLabel, t.approvals.editSubmit],
    reject: [t.approvals.rejectLabel, t.approvals.rejectSubmit],
    respond: [t.approvals.respondLabel, t.approvals.respondSubmit],
  };
  const [label, submit] = labels[form];
  const send = (event: FormEvent) => {
    event.preventDefault();
    onAnswer(answerOf(form, text));
  };
  return (
    <form className={styles.form} onSubmit={send}>
      <label className={styles.label}>
        {label}
        <textarea
          className={form === 'edit' ? `${styles.area} ${styles.mono}` : styles.area}
          value={text}
          // oxlint-disable-next-line jsx-a11y/no-autofocus -- it was just asked for
          autoFocus
          spellCheck={form !== 'edit'}
          aria-invalid={complaint !== null}
          onChange={(event) => setText(event.target.value)}
        />
      </label>
      {complaint !== null && (
        <p className={styles.wrong} role="alert">
          {complaint}
        </p>
      )}
      <Decisions isBusy={isBusy} isWanted>
        {(isReady) => (
          <>
            <Button type="submit" look={form === 'reject' ? 'danger' : 'primary'} disabled={!isReady || !isComplete}>
              {submit}
            </Button>
            <Button look="quiet" onClick={onBack}>
              {t.app.cancel}
            </Button>
          </>
        )}
      </Decisions>
    </form>
  );
}

function answerOf(form: Form, text: string): Answer {
  switch (form) {
    case 'edit':
      return { decision: 'approve', arguments: text };
    case 'reject':
      return text.trim() === '' ? { decision: 'reject' } : { decision: 'reject', reason: text.trim() };
    case 'respond':
      return { decision: 'respond', text };
  }
}

/** Browsers say in English what is wrong; of that only the place is of use in any language. */
function jsonComplaint(text: string, { approvals }: Strings): string | null {
  try {
    JSON.parse(text);
    return null;
  } catch (error) {
    const [, line, column] = /line (\d+) column (\d+)/.exec((error as Error).message) ?? [];
    return line && column ? approvals.editWrongAt(line, column) : approvals.editWrong;
  }
}
