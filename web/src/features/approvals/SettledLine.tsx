import type { Answer } from '@/api/generated/events';
import type { Strings } from '@/lib/i18n/en';
import { useI18n } from '@/lib/i18n/locale';
import { VisibleText } from '@/ui/Code';
import { Icon } from '@/ui/Icon';
import styles from './ApprovalCard.module.css';
import { replyText } from './reply';
import type { Settled } from './use-answer';

interface Props {
  settled: Settled;
  me: string | null;
  /** Whether it was answered here after it was settled. */
  isLate: boolean;
}

/** How a question was settled, in a line. */
export function SettledLine({ settled, me, isLate }: Props) {
  const { t } = useI18n();
  const { answer, by } = settled;
  const who = by === null || by === me ? t.approvals.you : by;
  const isNo = ['reject', 'decline', 'expire'].includes(answer.decision);
  const reason = wordsOf(answer);
  const line = [isLate ? t.approvals.firstAnswer : '', settledWords(answer, who, t)].filter(Boolean).join(' ');
  return (
    <p className={styles.settled} role="status">
      <Icon name={isNo ? 'block' : answer.decision === 'reply' ? 'check' : 'shield'} size={15} />
      <VisibleText text={reason ? `${line}: ${reason}` : line} />
    </p>
  );
}

/** What the person wrote. */
function wordsOf(answer: Answer): string | undefined {
  if (answer.decision === 'reply') return replyText(answer.value);
  return answer.decision === 'reject' || answer.decision === 'decline' ? answer.reason : undefined;
}

function settledWords(answer: Answer, by: string, { approvals: { settled } }: Strings): string {
  switch (answer.decision) {
    case 'approve':
      if (answer.always) return settled.always(by);
      return answer.arguments ? settled.edited(by) : settled.approve(by);
    case 'reject':
      return settled.reject(by);
    case 'respond':
      return settled.respond(by);
    case 'outcome':
      return settled[answer.answer](by);
    case 'reply':
      return settled.respond(by);
    case 'decline':
      return settled.decline(by);
    case 'expire':
      return settled.expire;
  }
}
