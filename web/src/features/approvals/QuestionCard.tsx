import { type FormEvent, type ReactNode, useEffect, useRef, useState } from 'react';
import type { UserQuestion } from '@/api/approvals';
import { ApiError, type FieldProblem, causeOfError, messageOfError } from '@/api/errors';
import type { Answer } from '@/api/generated/events';
import { useI18n } from '@/lib/i18n/locale';
import { formatDateTime } from '@/lib/time';
import { Button } from '@/ui/Button';
import { VisibleText } from '@/ui/Code';
import { Icon } from '@/ui/Icon';
import { Notice } from '@/ui/Notice';
import { ServerMessage } from '@/ui/ServerMessage';
import card from './ApprovalCard.module.css';
import { Decisions } from './Decisions';
import styles from './QuestionCard.module.css';
import { ReplyFields } from './ReplyFields';
import { type Draft, firstDraft, problemsOf, replyOf } from './reply';
import type { Answering } from './use-answer';

interface Props {
  question: UserQuestion;
  answering: Answering;
  onAnswer: (answer: Answer) => void;
}

const NO_PROBLEMS: ReadonlyMap<string, FieldProblem> = new Map();

/** What the model wants to know: the person answers, or would rather not. */
export function QuestionCard({ question, answering, onAnswer }: Props) {
  const { t, tag } = useI18n();
  const words = t.approvals.question;
  const [isDeclining, setDeclining] = useState(false);
  const [draft, setDraft] = useState<Draft>(() => firstDraft(question.form));
  const isBusy = answering.at === 'sending';
  const error = answering.at === 'open' ? answering.error : null;
  return (
    <div className={`${card.card} ${styles.card}`} role="group" aria-label={words.title}>
      <h3 className={card.title}>
        <Icon name="question" />
        <span>{words.title}</span>
      </h3>
      <p className={styles.question} data-written-by="model">
        <VisibleText text={question.question} />
      </p>
      {isDeclining ? (
        <DeclineForm isBusy={isBusy} error={error} onAnswer={onAnswer} onBack={() => setDeclining(false)} />
      ) : (
        <ReplyForm
          question={question}
          draft={draft}
          isBusy={isBusy}
          error={error}
          onDraft={setDraft}
          onAnswer={onAnswer}
          onDecline={() => setDeclining(true)}
        />
      )}
      <p className={card.small}>
        {words.noSecrets} {t.approvals.until(formatDateTime(question.expires_at, tag))}
      </p>
    </div>
  );
}

interface ReplyFormProps extends Props {
  draft: Draft;
  isBusy: boolean;
  error: Error | null;
  onDraft: (draft: Draft) => void;
  onDecline: () => void;
}

function ReplyForm({
  question,
  draft,
  isBusy,
  error,
  onDraft,
  onAnswer,
  onDecline,
}: Omit<ReplyFormProps, 'answering'>): ReactNode {
  const { t } = useI18n();
  const words = t.approvals.question;
  const form = useRef<HTMLFormElement>(null);
  // Fields that were changed since the server said what is wrong.
  const [changed, setChanged] = useState<readonly string[]>([]);
  const told = error instanceof ApiError ? problemsOf(error.problem) : NO_PROBLEMS;
  const problems = new Map([...told].filter(([place]) => !changed.includes(place)));
  // The first field that is wrong is where the person goes on.
  useEffect(() => {
    if (error !== null) form.current?.querySelector<HTMLElement>('[aria-invalid="true"]')?.focus();
  }, [error]);
  const send = (event: FormEvent) => {
    event.preventDefault();
    setChanged([]);
    onAnswer({ decision: 'reply', value: replyOf(question.form, draft) });
  };
  return (
    // What is wrong is said by the server, in the reader's language and for every client alike.
    <form ref={form} className={styles.form} onSubmit={send} noValidate>
      <ReplyFields
        form={question.form}
        draft={draft}
        problems={problems}
        onChange={(place, value) => {
          setChanged([...changed, place]);
          onDraft({ ...draft, [place]: value });
        }}
      />
      {(told.size === 0 || problems.size > 0) && <Refusal error={error} isShownBelow={problems.size > 0} />}
      <Decisions isBusy={isBusy}>
        {(isReady) => (
          <>
            <Button type="submit" look="primary" icon="check" disabled={!isReady}>
              {words.send}
            </Button>
            <Button look="quiet" disabled={!isReady} onClick={onDecline}>
              {words.decline}
            </Button>
          </>
        )}
      </Decisions>
    </form>
  );
}

interface DeclineFormProps {
  isBusy: boolean;
  error: Error | null;
  onAnswer: (answer: Answer) => void;
  onBack: () => void;
}

function DeclineForm({ isBusy, error, onAnswer, onBack }: DeclineFormProps) {
  const { t } = useI18n();
  const words = t.approvals.question;
  const [reason, setReason] = useState('');
  const send = (event: FormEvent) => {
    event.preventDefault();
    const said = reason.trim();
    onAnswer(said === '' ? { decision: 'decline' } : { decision: 'decline', reason: said });
  };
  return (
    <form className={styles.form} onSubmit={send}>
      <label className={card.label}>
        {words.declineLabel}
        <textarea
          className={card.area}
          value={reason}
          // oxlint-disable-next-line jsx-a11y/no-autofocus -- it was just asked for
          autoFocus
          onChange={(event) => setReason(event.target.value)}
        />
      </label>
      <Refusal error={error} isShownBelow={false} />
      <Decisions isBusy={isBusy} isWanted>
        {(isReady) => (
          <>
            <Button type="submit" look="primary" disabled={!isReady}>
              {words.declineSubmit}
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

/** Why the answer was not taken; where that is said beside the fields, only that it was not. */
function Refusal({ error, isShownBelow }: { error: Error | null; isShownBelow: boolean }): ReactNode {
  if (error === null) return null;
  const cause = isShownBelow ? null : causeOfError(error);
  const message = isShownBelow ? '' : error.message;
  return <Notice tone="bad" title={<ServerMessage coded={[cause, messageOfError(error)]} message={message} />} />;
}
