import { type ReactNode, useRef, useState } from 'react';
import type { Answer, Question } from '@/api/generated/events';
import { useSpeech } from '@/lib/i18n/locale';
import { layOutJson } from '@/lib/json-text';
import { formatDateTime } from '@/lib/time';
import { Button } from '@/ui/Button';
import { Code, VisibleText } from '@/ui/Code';
import { Icon } from '@/ui/Icon';
import { Notice } from '@/ui/Notice';
import { Pane } from '@/ui/Pane';
import { AlwaysForm } from './AlwaysForm';
import { AnswerForm, type Form } from './AnswerForm';
import styles from './ApprovalCard.module.css';
import { BudgetCard } from './BudgetCard';
import { SettledLine } from './SettledLine';
import { type Settled, useAnswer } from './use-answer';
import { warningWords } from './warning-words';
import { useDwell } from './use-dwell';

interface Props {
  question: Question;
  me: string | null;
  /** How it was settled, as the run or the server tells. */
  settled: Settled | null;
  /** Whether it can still be answered. */
  isOpen: boolean;
  onSettled?: () => void;
}

/** A question to a person: what would happen, exactly, and the ways to answer. */
export function ApprovalCard({ question, me, settled, isOpen, onSettled }: Props) {
  const { t } = useSpeech();
  const [answering, answer] = useAnswer(question.approval, onSettled);
  const done = settled ?? (answering.at === 'settled' ? answering.settled : null);
  const isLate = answering.at === 'settled' && !answering.isOurs;
  if (done !== null) return <SettledLine settled={done} me={me} isLate={isLate} />;
  if (!isOpen) return null;
  if (question.kind === 'budget') return <BudgetCard question={question} answering={answering} onAnswer={answer} />;
  const isOutcome = question.kind === 'outcome';
  return (
    <div
      className={styles.card}
      role="group"
      aria-label={isOutcome ? t.approvals.outcome(question.tool) : t.approvals.permission(question.tool)}
    >
      <h3 className={styles.title}>
        <Icon name={isOutcome ? 'question' : 'shield'} />
        <VisibleText text={isOutcome ? t.approvals.outcome(question.tool) : t.approvals.permission(question.tool)} />
      </h3>
      <Warnings question={question} />
      <Facts question={question} />
      {question.checked && (
        <Pane title={t.tools.checked} text={question.checked}>
          <VisibleText text={question.checked} />
        </Pane>
      )}
      {question.request && (
        <Pane title={isOutcome ? t.tools.sentRequest : t.approvals.request} text={question.request}>
          <VisibleText text={question.request} />
        </Pane>
      )}
      <Arguments title={isOutcome ? t.approvals.sent : t.approvals.sends} text={question.arguments} />
      {answering.at === 'open' && answering.error && <Notice tone="bad" title={answering.error.message} />}
      <Decision question={question} isBusy={answering.at === 'sending'} onAnswer={answer} />
    </div>
  );
}

/** What a person should know first: that private data could leave, from where and where to. */
function Warnings({ question }: { question: Question }): ReactNode {
  const { t } = useSpeech();
  const warnings = question.warnings ?? [];
  if (warnings.length === 0) return null;
  return (
    <Notice
      tone="warn"
      title={t.approvals.careful}
      detail={warnings.map((warning) => (
        <span key={warning} className={styles.warning}>
          <VisibleText text={warningWords(warning, t.approvals.warn)} />
        </span>
      ))}
    />
  );
}

function Facts({ question }: { question: Question }) {
  const { t, tag } = useSpeech();
  return (
    <div className={styles.facts}>
      {question.kind === 'outcome' && <p>{t.approvals.outcomeHint}</p>}
      {question.sent_at && <p>{t.tools.sentAt(formatDateTime(question.sent_at, tag))}</p>}
      <p className={styles.because}>
        <VisibleText text={t.approvals.reasons[question.because] ?? question.because} />
      </p>
      <p className={styles.small}>
        {t.approvals.effects[question.effect]} · {t.approvals.until(formatDateTime(question.expires_at, tag))}
      </p>
    </div>
  );
}

/** Exactly what the server will send: whole, however long, and with nothing hidden in it. */
function Arguments({ title, text }: { title: string; text: string }) {
  const laidOut = layOutJson(text);
  return (
    <Pane title={title} text={text}>
      {laidOut === null ? <VisibleText text={text} /> : <Code text={laidOut} language="json" exact />}
    </Pane>
  );
}

interface DecisionProps {
  question: Question;
  isBusy: boolean;
  onAnswer: (answer: Answer) => void;
}

function Decision({ question, isBusy, onAnswer }: DecisionProps): ReactNode {
  const { t } = useSpeech();
  const ref = useRef<HTMLDivElement>(null);
  const isReady = useDwell(ref) && !isBusy;
  const [form, setForm] = useState<Form | 'always' | null>(null);
  if (form === 'always') {
    return (
      <div ref={ref}>
        <AlwaysForm question={question} isReady={isReady} onAnswer={onAnswer} onBack={() => setForm(null)} />
      </div>
    );
  }
  if (form !== null) {
    return (
      <div ref={ref}>
        <AnswerForm
          form={form}
          question={question}
          isReady={isReady}
          onAnswer={onAnswer}
          onBack={() => setForm(null)}
        />
      </div>
    );
  }
  return (
    <div ref={ref} className={styles.actions}>
      {question.kind === 'outcome' ? (
        <>
          <Button disabled={!isReady} onClick={() => onAnswer({ decision: 'outcome', answer: 'happened' })}>
            {t.approvals.happened}
          </Button>
          <Button disabled={!isReady} onClick={() => onAnswer({ decision: 'outcome', answer: 'did_not_happen' })}>
            {t.approvals.didNotHappen}
          </Button>
          <Button
            disabled={!isReady}
            look="danger"
            onClick={() => onAnswer({ decision: 'outcome', answer: 'run_again' })}
          >
            {t.approvals.runAgain}
          </Button>
        </>
      ) : (
        <>
          <Button disabled={!isReady} look="primary" icon="check" onClick={() => onAnswer({ decision: 'approve' })}>
            {t.approvals.allow}
          </Button>
          {question.kind === 'permission' && (
            <Button disabled={!isReady} onClick={() => setForm('always')}>
              {t.approvals.always.open}
            </Button>
          )}
          <Button disabled={!isReady} onClick={() => setForm('edit')}>
            {t.approvals.edit}
          </Button>
          <Button disabled={!isReady} onClick={() => setForm('reject')}>
            {t.approvals.reject}
          </Button>
          <Button disabled={!isReady} look="quiet" onClick={() => setForm('respond')}>
            {t.approvals.respond}
          </Button>
        </>
      )}
    </div>
  );
}
