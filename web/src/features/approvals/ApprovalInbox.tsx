import { useState } from 'react';
import type { Approval } from '@/api/approvals';
import type { Tool } from '@/api/catalog';
import type { RunId } from '@/api/generated/events';
import { useI18n } from '@/lib/i18n/locale';
import { Button } from '@/ui/Button';
import { Dialog } from '@/ui/Dialog';
import { Icon } from '@/ui/Icon';
import { lazyPart } from '@/ui/lazy-part';
import styles from './ApprovalInbox.module.css';
import type { PendingApprovals } from './use-pending-approvals';

const ApprovalCard = lazyPart(async () => (await import('./ApprovalCard')).ApprovalCard);

interface Props {
  pending: PendingApprovals;
  me: string | null;
  tools: Tool[];
  onOpenRun: (run: RunId) => void;
}

/** How many questions are open anywhere, and a place to answer them all. */
export function ApprovalInbox({ pending, me, tools, onOpenRun }: Props) {
  const { t } = useI18n();
  const [shown, setShown] = useState<Approval[] | null>(null);
  const count = pending.approvals.length;
  const label = t.approvals.badge(count);
  return (
    <>
      {count > 0 && (
        // What is shown stays as it is while it is read: a card that moves would get a click meant for another.
        <button
          type="button"
          className={styles.badge}
          aria-label={label}
          title={label}
          onClick={() => setShown(pending.approvals)}
        >
          <Icon name="shield" size={16} />
          {count}
        </button>
      )}
      {shown !== null && (
        <Dialog title={t.approvals.inbox} onClose={() => setShown(null)}>
          <div className={styles.list}>
            {shown.map((approval) => (
              <div key={approval.approval} className={styles.entry}>
                <ApprovalCard
                  question={approval}
                  me={me}
                  tools={tools}
                  settled={null}
                  isOpen
                  onSettled={pending.refresh}
                />
                {approval.user === me || !approval.you ? (
                  <Button
                    size="small"
                    look="quiet"
                    onClick={() => {
                      setShown(null);
                      onOpenRun(approval.run);
                    }}
                  >
                    {t.approvals.open}
                  </Button>
                ) : (
                  <p>{t.approvals.voting.askedBy(approval.user)}</p>
                )}
              </div>
            ))}
          </div>
        </Dialog>
      )}
    </>
  );
}
