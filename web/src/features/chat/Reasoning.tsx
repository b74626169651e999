import { useId, useState } from 'react';
import { useI18n } from '@/lib/i18n/locale';
import { formatDuration } from '@/lib/time';
import { Icon } from '@/ui/Icon';
import styles from './Reasoning.module.css';
import { useStopwatch } from './use-stopwatch';

/** How much of the latest thought is shown while it is folded. */
const LINE_CHARACTERS = 160;

interface Props {
  text: string;
  /** Whether the model is thinking right now. */
  isActive: boolean;
}

/** What the model thought, folded until it is opened. */
export function Reasoning({ text, isActive }: Props) {
  const { t, tag } = useI18n();
  const [isOpen, setOpen] = useState(false);
  const spentMs = useStopwatch(isActive);
  const id = useId();
  // Whole seconds are calm enough to look at while they are counted; less than one is not worth a word.
  const seconds = Math.round((spentMs ?? 0) / 1_000);
  const spent = seconds < 1 ? null : formatDuration(seconds * 1_000, tag);
  const label = isActive ? t.reasoning.thinking : spent === null ? t.reasoning.thoughts : t.reasoning.thoughtFor(spent);
  return (
    <div className={isActive ? `${styles.reasoning} ${styles.active}` : styles.reasoning}>
      <button
        type="button"
        className={styles.head}
        aria-expanded={isOpen}
        aria-controls={id}
        onClick={() => setOpen(!isOpen)}
      >
        <span className={isOpen ? `${styles.chevron} ${styles.open}` : styles.chevron}>
          <Icon name="chevron" size={14} />
        </span>
        <span className={styles.label}>{label}</span>
        {isActive && spent !== null && <span>{spent}</span>}
        {isActive && !isOpen && (
          <span className={styles.line} aria-hidden="true" data-written-by="model">
            {text.trimEnd().replaceAll('\n', ' ').slice(-LINE_CHARACTERS)}
          </span>
        )}
      </button>
      {isOpen && (
        <div id={id} className={styles.text} data-written-by="model">
          {text}
        </div>
      )}
    </div>
  );
}
