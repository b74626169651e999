import type { Approval } from '@/api/approvals';
import type { Question } from '@/api/generated/events';
import { useI18n } from '@/lib/i18n/locale';
import { VisibleText } from '@/ui/Code';
import { Notice } from '@/ui/Notice';
import styles from './ApprovalCard.module.css';

interface Props {
  question: Question;
  /** None while it is being read. */
  approval: Approval | null;
}

/** Who decides, who has agreed, and whether the reader may. */
export function ApproverList({ question, approval }: Props) {
  const { t } = useI18n();
  const { approvers } = question;
  const { separator } = t.approvals.voting;
  if (!approvers) return null;
  const more = approval?.escalated ? approvers.escalate : null;
  const names = [
    ...(approvers.users ?? []),
    ...(more?.users ?? []),
    ...[...(approvers.groups ?? []), ...(more?.groups ?? [])].map(t.approvals.voting.group),
  ];
  const voted = (approval?.votes ?? []).map((vote) => vote.by);
  const missing = approval?.votes_missing ?? null;
  const you = approval?.you;
  return (
    <div className={styles.facts}>
      <p>
        <VisibleText text={t.approvals.voting.deciders(approvers.approvals ?? 1, names.join(separator))} />
      </p>
      {voted.length > 0 && (
        <p>
          <VisibleText text={t.approvals.voting.agreed(voted.join(separator))} />
        </p>
      )}
      {missing !== null && missing > 0 && <p>{t.approvals.voting.missing(missing)}</p>}
      {approval?.escalated && <p>{t.approvals.voting.escalated}</p>}
      {you && you !== 'may_answer' && <Notice tone="calm" title={t.approvals.voting.you[you]} />}
    </div>
  );
}
