import { useState } from 'react';
import { ApiError } from '@/api/errors';
import type { CallId, RunId } from '@/api/generated/events';
import type { ClientResult } from '@/api/runs';
import { runInSandbox } from '@/lib/browser-sandbox';
import { useSpeech } from '@/lib/i18n/locale';
import { Button } from '@/ui/Button';
import { Code } from '@/ui/Code';
import { Notice } from '@/ui/Notice';
import { Pane } from '@/ui/Pane';
import { Spinner } from '@/ui/Spinner';
import styles from './BrowserCode.module.css';
import { useChat } from './chat-context';
import { DECLINED, clientResult, codeOf } from './client-tools';

type Stage =
  | { at: 'idle' }
  | { at: 'running' }
  | { at: 'sending' }
  /** It ran, and must not run again only because the network failed. */
  | { at: 'not-sent'; result: ClientResult; error: Error }
  | { at: 'taken' };

interface Props {
  run: RunId;
  call: CallId;
  input: string;
}

/** Code that the model would like to run here. It is shown, and only a click runs it. */
export function BrowserCode({ run, call, input }: Props) {
  const { t } = useSpeech();
  const { session } = useChat();
  const [stage, setStage] = useState<Stage>({ at: 'idle' });
  const code = codeOf(input);

  const deliver = async (result: ClientResult) => {
    setStage({ at: 'sending' });
    try {
      await session.deliver(run, call, result);
    } catch (error) {
      if (error instanceof ApiError && error.status === 409) setStage({ at: 'taken' });
      else setStage({ at: 'not-sent', result, error: error as Error });
    }
  };

  const execute = async () => {
    if (code === null) return deliver({ error: 'the call has no code' });
    setStage({ at: 'running' });
    return deliver(clientResult(await runInSandbox(code)));
  };

  return (
    <div className={styles.panel} role="group" aria-label={t.browserCode.title}>
      <div>
        <h3 className={styles.title}>{t.browserCode.title}</h3>
        <p className={styles.explanation}>{code === null ? t.browserCode.noCode : t.browserCode.explanation}</p>
      </div>
      {code !== null && (
        <Pane title="JavaScript" text={code}>
          <Code text={code} language="js" />
        </Pane>
      )}
      {stage.at === 'idle' && (
        <div className={styles.actions}>
          {code !== null && (
            <Button look="primary" icon="play" onClick={() => void execute()}>
              {t.browserCode.run}
            </Button>
          )}
          <Button onClick={() => void deliver(DECLINED)}>{t.browserCode.decline}</Button>
        </div>
      )}
      {(stage.at === 'running' || stage.at === 'sending') && (
        <p className={styles.busy} role="status">
          <Spinner /> {stage.at === 'running' ? t.browserCode.running : t.browserCode.sending}
        </p>
      )}
      {stage.at === 'not-sent' && (
        <Notice
          tone="bad"
          title={t.browserCode.notSent}
          detail={stage.error.message}
          actions={<Button onClick={() => void deliver(stage.result)}>{t.browserCode.sendAgain}</Button>}
        />
      )}
      {stage.at === 'taken' && <Notice title={t.browserCode.takenElsewhere} />}
    </div>
  );
}
