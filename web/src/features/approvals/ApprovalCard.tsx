import { type ReactNode, useRef, useState } from 'react';
import type { CallQuestion } from '@/api/approvals';
import type { Tool } from '@/api/catalog';
import { causeOfError, messageOfError } from '@/api/errors';
import type { Answer, Question } from '@/api/generated/events';
import { useI18n } from '@/lib/i18n/locale';
import { layOutJson } from '@/lib/json-text';
import { formatDateTime } from '@/lib/time';
import { Button } from '@/ui/Button';
import { Code, VisibleText } from '@/ui/Code';
import { Icon } from '@/ui/Icon';
import { Notice } from '@/ui/Notice';
import { ServerMessage } from '@/ui/ServerMessage';
import { Pane } from '@/ui/Pane';
import { AlwaysForm } from './AlwaysForm';
import { AnswerForm, type Form } from './AnswerForm';
import { ApproverList } from './ApproverList';
import styles from './ApprovalCard.module.css';
import { BudgetCard } from './BudgetCard';
import { Decisions } from './Decisions';
import { Deed } from './Deed';
import { LookUp } from './LookUp';
import { QuestionCard } from './QuestionCard';
import { SettledLine } from './SettledLine';
import { type Settled, useAnswer } from './use-answer';
import { toolWords } from './tool-words';
import { useVoting } from './use-voting';
import { cautionsOf, reasonOf } from './reasons';

interface Props {
  question: Question;
  me: string | null;
  /** What is known of tools, to say what they do. */
  tools: Tool[];
  /** How it was settled, as the run or the server tells. */
  settled: Settled | null;
  /** Whether it can still be answered. */
  isOpen: boolean;
  onSettled?: () => void;
}

/** A question to a person: what would happen, exactly, and the ways to answer. */
export function ApprovalCard({ question, me, tools, settled, isOpen, onSettled }: Props) {
  const { t, locale } = useI18n();
  const voting = useVoting(question, isOpen);
  const [answering, answer] = useAnswer(question.approval, () => {
    voting?.refresh();
    onSettled?.();
  });
  const subject = useRef<HTMLDivElement>(null);
  const done = settled ?? (answering.at === 'settled' ? answering.settled : null);
  const isLate = answering.at === 'settled' && !answering.isOurs;
  if (done !== null) return <SettledLine settled={done} me={me} isLate={isLate} />;
  if (!isOpen) return null;
  if (question.kind === 'budget') return <BudgetCard question={question} answering={answering} onAnswer={answer} />;
  if (question.kind === 'user') return <QuestionCard question={question} answering={answering} onAnswer={answer} />;
  const isOutcome = question.kind === 'outcome';
  const words = toolWords(question.tool, tools, t, locale);
  const heading = isOutcome ? t.approvals.outcome(words.title) : t.approvals.permission(words.title);
  return (
    <div className={styles.card} role="group" aria-label={heading}>
      <h3 className={styles.title}>
        <Icon name={isOutcome ? 'question' : 'shield'} />
        <span>
          <VisibleText text={heading} />
        </span>
      </h3>
      <Warnings question={question} />
      <div ref={subject} className={styles.subject}>
        <Deed words={words} input={question.arguments} />
      </div>
      <Facts question={question} />
      {voting && <ApproverList question={question} approval={voting.approval} />}
      {question.kind === 'outcome' && question.checked && (
        <Pane title={t.tools.checked} text={question.checked}>
          <VisibleText text={question.checked} />
        </Pane>
      )}
      <Exactly question={question} />
      {answering.at === 'open' && answering.error && (
        <Notice
          tone="bad"
          title={
            <ServerMessage
              coded={[causeOfError(answering.error), messageOfError(answering.error)]}
              message={answering.error.message}
            />
          }
        />
      )}
      <LookUp subject={subject} />
      {(voting === null || voting.approval?.you === 'may_answer') && answering.at !== 'counted' && (
        <Decision question={question} isBusy={answering.at === 'sending'} onAnswer={answer} />
      )}
    </div>
  );
}

/** What a person should know first: that private data could leave, from where and where to. */
function Warnings({ question }: { question: CallQuestion }): ReactNode {
  const { t, translate } = useI18n();
  const warnings = cautionsOf(question, translate);
  if (warnings.length === 0) return null;
  return (
    <Notice
      tone="warn"
      title={t.approvals.careful}
      detail={warnings.map((warning) => (
        <span key={warning} className={styles.warning}>
          <VisibleText text={warning} />
        </span>
      ))}
    />
  );
}

function Facts({ question }: { question: CallQuestion }) {
  const { t, tag, translate } = useI18n();
  return (
    <div className={styles.facts}>
      {question.kind === 'outcome' && question.sent_at && (
        <p>{t.tools.sentAt(formatDateTime(question.sent_at, tag))}</p>
      )}
      {question.asker && (
        <p>
          <VisibleText text={t.approvals.asker(question.asker.agent)} />
        </p>
      )}
      <p className={styles.because}>
        <VisibleText text={reasonOf(question, translate)} />
      </p>
      {question.kind === 'outcome' && <p>{t.approvals.outcomeHint}</p>}
      <p className={styles.small}>
        {t.approvals.effects[question.effect]} · {t.approvals.until(formatDateTime(question.expires_at, tag))}
      </p>
    </div>
  );
}

/** Exactly what the server will send: whole, however long, and with nothing hidden in it. */
function Exactly({ question }: { question: CallQuestion }) {
  const { t } = useI18n();
  const isOutcome = question.kind === 'outcome';
  const laidOut = layOutJson(question.arguments);
  return (
    <details className={styles.exactly}>
      <summary>{isOutcome ? t.approvals.exactlySent : t.approvals.exactly}</summary>
      {question.request && (
        <Pane title={isOutcome ? t.tools.sentRequest : t.approvals.request} text={question.request} whole>
          <VisibleText text={question.request} />
        </Pane>
      )}
      <Pane title={t.approvals.argumentsOf(question.tool)} text={question.arguments} whole>
        {laidOut === null ? <VisibleText text={question.arguments} /> : <Code text={laidOut} language="json" exact />}
      </Pane>
    </details>
  );
}

interface DecisionProps {
  question: CallQuestion;
  isBusy: boolean;
  onAnswer: (answer: Answer) => void;
}

function Decision({ question, isBusy, onAnswer }: DecisionProps): ReactNode {
  const [form, setForm] = useState<Form | 'always' | null>(null);
  const props = { question, isBusy, onAnswer, onBack: () => setForm(null) };
  if (form === 'always') return <AlwaysForm {...props} />;
  if (form !== null) return <AnswerForm form={form} {...props} />;
  return (
    <Decisions isBusy={isBusy}>
      {(isReady) =>
        question.kind === 'outcome' ? (
          <OutcomeButtons isReady={isReady} onAnswer={onAnswer} />
        ) : (
          <PermissionButtons
            isReady={isReady}
            hasApprovers={Boolean(question.approvers)}
            onAnswer={onAnswer}
            onForm={setForm}
          />
        )
      }
    </Decisions>
  );
}

interface ButtonsProps {
  isReady: boolean;
  onAnswer: (answer: Answer) => void;
}

function OutcomeButtons({ isReady, onAnswer }: ButtonsProps) {
  const { t } = useI18n();
  return (
    <>
      <Button disabled={!isReady} onClick={() => onAnswer({ decision: 'outcome', answer: 'happened' })}>
        {t.approvals.happened}
      </Button>
      <Button disabled={!isReady} onClick={() => onAnswer({ decision: 'outcome', answer: 'did_not_happen' })}>
        {t.approvals.didNotHappen}
      </Button>
      <Button disabled={!isReady} look="danger" onClick={() => onAnswer({ decision: 'outcome', answer: 'run_again' })}>
        {t.approvals.runAgain}
      </Button>
    </>
  );
}

interface PermissionButtonsProps extends ButtonsProps {
  /** Each call is theirs to decide, so no answer is for always. */
  hasApprovers: boolean;
  onForm: (form: Form | 'always') => void;
}

function PermissionButtons({ isReady, hasApprovers, onAnswer, onForm }: PermissionButtonsProps) {
  const { t } = useI18n();
  return (
    <>
      <Button disabled={!isReady} look="primary" icon="check" onClick={() => onAnswer({ decision: 'approve' })}>
        {t.approvals.allow}
      </Button>
      {!hasApprovers && (
        <Button disabled={!isReady} onClick={() => onForm('always')}>
          {t.approvals.always.open}
        </Button>
      )}
      <Button disabled={!isReady} onClick={() => onForm('edit')}>
        {t.approvals.edit}
      </Button>
      <Button disabled={!isReady} onClick={() => onForm('reject')}>
        {t.approvals.reject}
      </Button>
      <Button disabled={!isReady} look="quiet" onClick={() => onForm('respond')}>
        {t.approvals.respond}
      </Button>
    </>
  );
}
