import { useEffect, useState } from 'react';
import { type Allowance, listAllowances, revokeAllowance } from '@/api/allowances';
import { messageOfError } from '@/api/errors';
import { useI18n } from '@/lib/i18n/locale';
import { formatDateTime } from '@/lib/time';
import { Button } from '@/ui/Button';
import { VisibleText } from '@/ui/Code';
import { Dialog } from '@/ui/Dialog';
import { Notice } from '@/ui/Notice';
import { ServerMessage } from '@/ui/ServerMessage';
import styles from './ApprovalInbox.module.css';

/** What is allowed without asking, and a way to take each of it back. */
export function AllowanceList({ onClose }: { onClose: () => void }) {
  const { t } = useI18n();
  const words = t.approvals.always;
  const [held, setHeld] = useState<Allowance[] | null>(null);
  const [problem, setProblem] = useState<Error | null>(null);
  useEffect(() => {
    listAllowances().then(setHeld, setProblem);
  }, []);
  const revoke = async (id: string) => {
    try {
      await revokeAllowance(id);
      setHeld((all) => all?.filter((allowance) => allowance.id !== id) ?? null);
    } catch (error) {
      setProblem(error as Error);
    }
  };
  return (
    <Dialog title={words.list} onClose={onClose}>
      {problem !== null && (
        <Notice tone="bad" title={<ServerMessage coded={[messageOfError(problem)]} message={problem.message} />} />
      )}
      {held?.length === 0 && <p>{words.none}</p>}
      <ul className={styles.list}>
        {held?.map((allowance) => (
          <li key={allowance.id} className={styles.entry}>
            <Entry allowance={allowance} />
            <Button size="small" look="danger" onClick={() => void revoke(allowance.id)}>
              {words.revoke(allowance.tool)}
            </Button>
          </li>
        ))}
      </ul>
    </Dialog>
  );
}

/** What stands for the agent where a tool is called without one; no agent has these names. */
const DIRECT_CALLERS = new Set(['api', 'command line']);

function Entry({ allowance }: { allowance: Allowance }) {
  const { t, tag } = useI18n();
  const words = t.approvals.always;
  const conditions = Object.entries(allowance.arguments);
  const facts = [
    words.reach[allowance.within],
    DIRECT_CALLERS.has(allowance.agent) ? words.direct : words.agent(allowance.agent),
    words.madeBy(allowance.by, formatDateTime(allowance.created_at, tag)),
    words.ends(formatDateTime(allowance.expires_at, tag)),
    allowance.state === 'outdated' ? words.outdated : '',
  ];
  return (
    <div>
      <strong>{allowance.tool}</strong>
      {conditions.length > 0 && (
        <code className={styles.conditions}>
          <VisibleText text={conditions.map(([name, like]) => `${name}: ${JSON.stringify(like)}`).join(', ')} />
        </code>
      )}
      <p className={styles.facts}>{facts.filter(Boolean).join(' · ')}</p>
    </div>
  );
}
