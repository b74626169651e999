import { useId, useState } from 'react';
import { useI18n } from '@/lib/i18n/locale';
import { formatCount, formatNanos } from '@/lib/money';
import styles from './AnswerCost.module.css';
import { useChat } from './chat-context';
import { type PaidStep, spentOn, tokensOf } from './spent';

/** What an answer cost, in short; all of it on request. */
export function AnswerCost({ steps }: { steps: PaidStep[] }) {
  const { t, tag } = useI18n();
  const { currency } = useChat();
  const id = useId();
  const [isOpen, setOpen] = useState(false);
  const { tokens, costNanos } = spentOn(steps);
  if (tokens === 0 && costNanos === null) return null;
  const words = [t.cost.tokens(formatCount(tokens, tag)), costNanos !== null && formatNanos(costNanos, currency, tag)];
  return (
    <>
      <span aria-hidden="true">·</span>
      <button
        type="button"
        className={styles.total}
        aria-expanded={isOpen}
        aria-controls={isOpen ? id : undefined}
        title={t.cost.show}
        onClick={() => setOpen(!isOpen)}
      >
        {words.filter(Boolean).join(' · ')}
      </button>
      {isOpen && <Steps id={id} steps={steps} />}
    </>
  );
}

function Steps({ id, steps }: { id: string; steps: PaidStep[] }) {
  const { t, tag } = useI18n();
  const { currency } = useChat();
  const number = new Intl.NumberFormat(tag);
  const of = (part: number | undefined) => (part ? number.format(part) : '–');
  return (
    <div id={id} className={styles.steps}>
      <table>
        <caption className="visually-hidden">{t.cost.caption}</caption>
        <thead>
          <tr>
            <th scope="col">{t.cost.step}</th>
            <th scope="col">{t.chat.model}</th>
            <th scope="col">{t.cost.input}</th>
            <th scope="col">{t.cost.cached}</th>
            <th scope="col">{t.cost.output}</th>
            <th scope="col">{t.cost.cost}</th>
          </tr>
        </thead>
        <tbody>
          {steps.map(({ step, model, usage, cost_nanos: cost }) => (
            <tr key={step}>
              <td>{number.format(step)}</td>
              <td>{model}</td>
              <td>{number.format(usage.input_tokens)}</td>
              <td>{of(usage.cached_tokens)}</td>
              <td>{number.format(usage.output_tokens)}</td>
              <td>{cost === null || cost === undefined ? t.cost.unknown : formatNanos(cost, currency, tag)}</td>
            </tr>
          ))}
        </tbody>
        {steps.length > 1 && (
          <tfoot>
            <tr>
              <th scope="row" colSpan={2}>
                {t.cost.sum}
              </th>
              <td>{number.format(sum(steps, (one) => one.usage.input_tokens))}</td>
              <td>{of(sum(steps, (one) => one.usage.cached_tokens ?? 0))}</td>
              <td>{number.format(sum(steps, (one) => one.usage.output_tokens))}</td>
              <td>{sumCost(steps, (nanos) => formatNanos(nanos, currency, tag)) ?? t.cost.unknown}</td>
            </tr>
          </tfoot>
        )}
      </table>
    </div>
  );
}

/** What the whole conversation took so far. */
export function ConversationCost({ steps }: { steps: PaidStep[] }) {
  const { t, tag } = useI18n();
  const { currency } = useChat();
  const tokens = sum(steps, ({ usage }) => tokensOf(usage));
  if (tokens === 0) return null;
  const cost = sumCost(steps, (nanos) => formatNanos(nanos, currency, tag));
  const words = [t.cost.tokens(formatCount(tokens, tag)), cost].filter(Boolean).join(' · ');
  return <span className={styles.conversation}>{t.cost.conversation(words)}</span>;
}

function sum(steps: PaidStep[], of: (step: PaidStep) => number): number {
  return steps.reduce((total, step) => total + of(step), 0);
}

function sumCost(steps: PaidStep[], format: (nanos: number) => string): string | null {
  const { costNanos } = spentOn(steps);
  return costNanos === null ? null : format(costNanos);
}
