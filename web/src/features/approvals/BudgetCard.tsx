import { messageOfError } from '@/api/errors';
import type { Answer, Question } from '@/api/generated/events';
import { useI18n } from '@/lib/i18n/locale';
import { formatDateTime } from '@/lib/time';
import { Button } from '@/ui/Button';
import { VisibleText } from '@/ui/Code';
import { Icon } from '@/ui/Icon';
import { Notice } from '@/ui/Notice';
import { ServerMessage } from '@/ui/ServerMessage';
import styles from './ApprovalCard.module.css';
import { Decisions } from './Decisions';
import { reasonOf } from './reasons';
import type { Answering } from './use-answer';

interface Props {
  question: Question;
  answering: Answering;
  onAnswer: (answer: Answer) => void;
}

/** A run has used up most of what it may: a person says whether it goes on to the limit. */
export function BudgetCard({ question, answering, onAnswer }: Props) {
  const { t, tag, translate } = useI18n();
  return (
    <div className={styles.card} role="group" aria-label={t.approvals.budget}>
      <h3 className={styles.title}>
        <Icon name="question" />
        <span>{t.approvals.budget}</span>
      </h3>
      <div className={styles.facts}>
        <p className={styles.because}>
          <VisibleText text={reasonOf(question, translate)} />
        </p>
        <p className={styles.small}>
          {t.approvals.budgetHint} · {t.approvals.until(formatDateTime(question.expires_at, tag))}
        </p>
      </div>
      {answering.at === 'open' && answering.error && (
        <Notice
          tone="bad"
          title={<ServerMessage coded={[messageOfError(answering.error)]} message={answering.error.message} />}
        />
      )}
      <Decisions isBusy={answering.at === 'sending'}>
        {(isReady) => (
          <>
            <Button disabled={!isReady} look="primary" icon="check" onClick={() => onAnswer({ decision: 'approve' })}>
              {t.approvals.goOn}
            </Button>
            <Button disabled={!isReady} onClick={() => onAnswer({ decision: 'reject' })}>
              {t.approvals.stopHere}
            </Button>
          </>
        )}
      </Decisions>
    </div>
  );
}
