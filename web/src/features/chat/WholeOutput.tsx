import { useState } from 'react';
import type { CallId, RunId } from '@/api/generated/events';
import { readOutput } from '@/api/kept';
import { formatBytes } from '@/lib/bytes';
import { useI18n } from '@/lib/i18n/locale';
import { Button } from '@/ui/Button';
import { VisibleText } from '@/ui/Code';
import { Pane } from '@/ui/Pane';
import styles from './ToolDetails.module.css';

/** What a reader takes in at once. */
const PIECE_BYTES = 64_000;

interface Props {
  run: RunId;
  call: CallId;
  keptBytes: number;
  wholeBytes: number;
}

interface Read {
  text: string;
  next: number | null;
}

/** An output that was cut for the model: what the person can still read of it is all of it, piece by piece. */
export function WholeOutput({ run, call, keptBytes, wholeBytes }: Props) {
  const { t, tag } = useI18n();
  const [read, setRead] = useState<Read>({ text: '', next: 0 });
  const [state, setState] = useState<'idle' | 'reading' | 'failed'>('idle');
  const readOn = (from: number) => {
    setState('reading');
    readOutput(run, call, from, PIECE_BYTES).then(
      ({ text, next }) => {
        setRead({ text: read.text + text, next });
        setState('idle');
      },
      () => setState('failed'),
    );
  };
  const { text, next } = read;
  return (
    <>
      <p className={styles.note}>{t.tools.cut(formatBytes(keptBytes, tag), formatBytes(wholeBytes, tag))}</p>
      {text !== '' && (
        <Pane title={t.tools.wholeOutput} text={text}>
          <VisibleText text={text} />
        </Pane>
      )}
      {next !== null && (
        <div>
          <Button size="small" disabled={state === 'reading'} onClick={() => readOn(next)}>
            {text === '' ? t.tools.showWhole : t.tools.showMore(formatBytes(wholeBytes - next, tag))}
          </Button>
        </div>
      )}
      {state === 'failed' && (
        <p className={styles.note} role="alert">
          {t.tools.wholeMissing}
        </p>
      )}
    </>
  );
}
