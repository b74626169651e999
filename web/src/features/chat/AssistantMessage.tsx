import { MessagePrimitive, useAuiState } from '@assistant-ui/react';
import type { ReactNode } from 'react';
import { useI18n } from '@/lib/i18n/locale';
import { formatTime } from '@/lib/time';
import { CopyButton } from '@/ui/CopyButton';
import { Markdown } from '@/ui/Markdown';
import { AnswerCost } from './AnswerCost';
import { AnswerEnd } from './AnswerEnd';
import { BrokenText } from './BrokenText';
import { useChat } from './chat-context';
import type { Entry } from './chat-state';
import { keptItems } from './kept-items';
import styles from './Message.module.css';
import { Reasoning } from './Reasoning';
import { type BrokenOff, type Item, type Shortened, isOver, itemsOf } from './run-state';
import { ShortenedPast } from './ShortenedPast';
import { spentOn, stepsOf } from './spent';
import { UserInterjectionNote } from './UserInterjectionNote';
import type { CallPlace, InterjectionPlace } from './thread-messages';
import { ToolCard } from './ToolCard';
import { useEntry } from './use-entry';

export function AssistantMessage() {
  const { t } = useI18n();
  return (
    <MessagePrimitive.Root className={styles.answer} role="article" aria-label={t.chat.assistant}>
      <MessagePrimitive.GroupedParts groupBy={stepOf} indicator="no-text">
        {({ part, children }): ReactNode => {
          switch (part.type) {
            case 'text':
              return <Words text={part.text} />;
            case 'reasoning':
              return <Thoughts text={part.text} />;
            case 'tool-call':
              return <ToolCard place={part.artifact as CallPlace} />;
            case 'data':
              if (part.name === 'broken') return <BrokenText broken={part.data as BrokenOff} />;
              if (part.name === 'shortened') return <ShortenedPast shortened={part.data as Shortened} />;
              return <UserInterjectionNote place={part.data as InterjectionPlace} />;
            case 'indicator':
              return <Working />;
            default:
              return 'indices' in part ? <Group count={part.indices.length}>{children}</Group> : null;
          }
        }}
      </MessagePrimitive.GroupedParts>
      <RunQuestions />
      <AnswerEnd />
      <Foot />
    </MessagePrimitive.Root>
  );
}

/** Calls of one step were asked for at once, so they sit together. */
function stepOf(part: { type: string; artifact?: unknown }): [`group-${string}`] | null {
  if (part.type !== 'tool-call') return null;
  return [`group-step-${(part.artifact as CallPlace).call.step}`];
}

function Group({ count, children }: { count: number; children: ReactNode }) {
  const { t } = useI18n();
  return (
    <div className={styles.group}>
      {count > 1 && <div className={styles.groupHead}>{t.tools.atOnce(count)}</div>}
      {children}
    </div>
  );
}

function Words({ text }: { text: string }) {
  return <Markdown text={text} growing={useIsBeingWritten()} />;
}

function Thoughts({ text }: { text: string }) {
  return <Reasoning text={text} isActive={useIsBeingWritten()} />;
}

/** Whether the part is the one that grows right now. */
function useIsBeingWritten(): boolean {
  return useAuiState(({ part }) => part.status.type === 'running');
}

/** Shown while the model is asked and has not begun to answer. */
function Working() {
  const { t } = useI18n();
  const entry = useEntry();
  if (entry?.kind !== 'run' || entry.run.phase !== 'running') return null;
  const isAtWork = itemsOf(entry.run).some(
    (item) => item.kind === 'call' && ['writing', 'running', 'asked', 'delegated', 'claimed'].includes(item.state),
  );
  if (isAtWork) return null;
  return (
    <p className={styles.working} role="status">
      <span className={styles.dots} aria-hidden="true">
        <i />
        <i />
        <i />
      </span>
      <span className="visually-hidden">{t.chat.working}</span>
    </p>
  );
}

/** What a person has to say about the run as a whole before it goes on. */
function RunQuestions(): ReactNode {
  const entry = useEntry();
  const { ApprovalView } = useChat();
  if (entry?.kind !== 'run') return null;
  const { run } = entry;
  return run.questions.map((approval) => (
    <ApprovalView key={approval.question.approval} approval={approval} isOpen={!isOver(run)} />
  ));
}

function Foot() {
  const { tag } = useI18n();
  const entry = useEntry();
  if (entry === undefined || entry.kind === 'asked' || (entry.kind === 'run' && !isOver(entry.run))) return null;
  const { text, model, at } = footOf(entry);
  const steps = stepsOf(entry);
  // Who answered need not be who was asked.
  const who = spentOn(steps).models.join(', ') || model;
  return (
    <footer className={styles.foot}>
      {text !== '' && <CopyButton text={text} />}
      <span>{[who, formatTime(at, tag)].filter(Boolean).join(' · ')}</span>
      <AnswerCost steps={steps} />
    </footer>
  );
}

function footOf(entry: Exclude<Entry, { kind: 'asked' }>): { text: string; model: string; at: number } {
  if (entry.kind === 'kept') {
    const { message } = entry;
    return { text: textOf(keptItems(message)), model: message.model ?? '', at: message.at };
  }
  const { asked, items } = entry.run;
  return { text: textOf(items), model: asked?.model ?? '', at: asked?.at ?? 0 };
}

function textOf(items: Item[]): string {
  const texts = items.map((item) => {
    const isRead = item.kind === 'text' || (item.kind === 'broken' && item.now === 'last');
    return isRead ? item.text : '';
  });
  return texts.filter(Boolean).join('\n\n');
}
