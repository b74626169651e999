import { type FormEvent, useState } from 'react';
import type { CallQuestion } from '@/api/approvals';
import type { Answer } from '@/api/generated/events';
import { useSpeech } from '@/lib/i18n/locale';
import { serverNow } from '@/lib/server-clock';
import { formatDateTime } from '@/lib/time';
import { Button } from '@/ui/Button';
import styles from './ApprovalCard.module.css';
import { alwaysOf, type Choice, DAYS, endOf, reachesOf, sameArguments, usualReach } from './always';
import { Decisions } from './Decisions';

interface Props {
  question: CallQuestion;
  isBusy: boolean;
  onAnswer: (answer: Answer) => void;
  onBack: () => void;
}

/** A yes for more than this call: the person says how far it reaches, and reads what that means. */
export function AlwaysForm({ question, isBusy, onAnswer, onBack }: Props) {
  const { t, tag } = useSpeech();
  const words = t.approvals.always;
  const asked = question.kind === 'permission' ? question : {};
  const [choice, setChoice] = useState<Choice>({ within: usualReach(asked), days: 30, isSame: false });
  const canBeSame = sameArguments(question.arguments) !== null;
  const send = (event: FormEvent) => {
    event.preventDefault();
    onAnswer({ decision: 'approve', always: alwaysOf(choice, question.arguments) });
  };
  return (
    <form className={styles.form} onSubmit={send}>
      <fieldset className={styles.choices}>
        <legend className={styles.label}>{words.reachLabel}</legend>
        {reachesOf(asked).map((within) => (
          <label key={within} className={styles.choice}>
            <input
              type="radio"
              name={`reach-${question.approval}`}
              checked={choice.within === within}
              onChange={() => setChoice({ ...choice, within })}
            />
            {words.reach[within]}
          </label>
        ))}
      </fieldset>
      {canBeSame && (
        <label className={styles.choice}>
          <input
            type="checkbox"
            checked={choice.isSame}
            onChange={(event) => setChoice({ ...choice, isSame: event.target.checked })}
          />
          {words.same}
        </label>
      )}
      <label className={styles.choice}>
        {words.daysLabel}
        <select value={choice.days} onChange={(event) => setChoice({ ...choice, days: Number(event.target.value) })}>
          {DAYS.map((days) => (
            <option key={days} value={days}>
              {words.days(days)}
            </option>
          ))}
        </select>
      </label>
      <p className={styles.small}>
        {words.meaning(question.tool, words.reach[choice.within], formatDateTime(endOf(choice, serverNow()), tag))}
      </p>
      <Decisions isBusy={isBusy} isWanted>
        {(isReady) => (
          <>
            <Button type="submit" look="primary" disabled={!isReady}>
              {words.submit}
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
