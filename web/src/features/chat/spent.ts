// What answers take: tokens, and money where prices are known.

import type { Compaction, StepRecord, Usage } from '@/api/generated/events';
import type { Entry } from './chat-state';

/** One message of a model, as far as it is paid for. */
export type PaidStep = Pick<StepRecord, 'step' | 'model' | 'usage' | 'cost_nanos'>;

export interface Spent {
  tokens: number;
  /** None where no price is known. */
  costNanos: number | null;
  /** Who answered, in the order of their first words. */
  models: string[];
}

export function spentOn(steps: PaidStep[]): Spent {
  const costs = steps.flatMap(({ cost_nanos: cost }) => cost ?? []);
  return {
    tokens: steps.reduce((sum, { usage }) => sum + tokensOf(usage), 0),
    costNanos: costs.length === 0 ? null : costs.reduce((sum, cost) => sum + cost, 0),
    models: [...new Set(steps.map(({ model }) => model).filter(Boolean))],
  };
}

/** The steps of an entry; a message of a person has none. */
export function stepsOf(entry: Entry): PaidStep[] {
  switch (entry.kind) {
    case 'asked':
      return [];
    case 'kept':
      return [
        ...(entry.message.steps ?? []),
        ...entry.message.parts.flatMap((part) => (part.type === 'compacted' ? summaryOf(part) : [])),
      ];
    case 'run':
      return entry.run.steps;
  }
}

/** A summary is paid for like a step, but its model did not answer. */
export function summaryOf({ step, summary }: Compaction): PaidStep[] {
  return summary ? [{ step, model: '', usage: summary.usage, cost_nanos: summary.cost_nanos ?? null }] : [];
}

export function tokensOf({ input_tokens: input, output_tokens: output }: Usage): number {
  return input + output;
}
