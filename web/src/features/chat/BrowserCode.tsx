import { useEffect, useRef, useState } from 'react';
import { ApiError, messageOfError } from '@/api/errors';
import type { CallId, RunId } from '@/api/generated/events';
import type { Claim, ClientResult } from '@/api/runs';
import { runInSandbox } from '@/lib/browser-sandbox';
import { clientId } from '@/lib/client-id';
import { useI18n } from '@/lib/i18n/locale';
import { Button } from '@/ui/Button';
import { Code } from '@/ui/Code';
import { Notice } from '@/ui/Notice';
import { Pane } from '@/ui/Pane';
import { ServerMessage } from '@/ui/ServerMessage';
import { Spinner } from '@/ui/Spinner';
import styles from './BrowserCode.module.css';
import { useChat } from './chat-context';
import { holderOf, keepHeard } from './claims';
import { DECLINED, clientResult, codeOf } from './client-tools';
import { BROWSER_CODE_WORDS } from './browser-code-words';

type Stage =
  | { at: 'idle' }
  | { at: 'claiming' }
  | { at: 'running' }
  | { at: 'sending' }
  | { at: 'not-claimed'; error: Error }
  /** It ran, and must not run again only because the network failed. */
  | { at: 'not-sent'; token: string; result: ClientResult; error: Error }
  | { at: 'taken' };

interface Props {
  run: RunId;
  call: CallId;
  input: string;
  /** The window that has the call. */
  claimedBy: string | null;
}

/** Code that the model would like to run here. It is shown, and only a click runs it, in the one window that has the call. */
export function BrowserCode({ run, call, input, claimedBy }: Props) {
  const { locale } = useI18n();
  const words = BROWSER_CODE_WORDS[locale];
  const { session } = useChat();
  const [stage, setStage] = useState<Stage>({ at: 'idle' });
  const stop = useRef<() => void>(() => {});
  useEffect(() => () => stop.current(), []);
  const code = codeOf(input);
  const holder = holderOf(claimedBy, clientId());

  /** Takes the call and keeps it until its result is sent. */
  const claim = async (): Promise<Claim | null> => {
    setStage({ at: 'claiming' });
    try {
      const claimed = await session.claim(run, call);
      stop.current();
      stop.current = keepHeard(() => session.claim(run, call), isConflict);
      return claimed;
    } catch (error) {
      setStage(isConflict(error) ? { at: 'taken' } : { at: 'not-claimed', error: error as Error });
      return null;
    }
  };

  const deliver = async (token: string, result: ClientResult) => {
    setStage({ at: 'sending' });
    try {
      await session.deliver(run, call, token, result);
      stop.current();
    } catch (error) {
      setStage(isConflict(error) ? { at: 'taken' } : { at: 'not-sent', token, result, error: error as Error });
    }
  };

  const execute = async () => {
    const claimed = await claim();
    if (claimed === null) return;
    // What runs is what was shown when it was clicked.
    if (code === null || codeOf(claimed.arguments) !== code)
      return deliver(claimed.result_token, { error: 'the page had shown other code than this; it did not run' });
    setStage({ at: 'running' });
    return deliver(claimed.result_token, clientResult(await runInSandbox(code)));
  };

  const decline = async () => {
    const claimed = await claim();
    if (claimed !== null) await deliver(claimed.result_token, DECLINED);
  };

  const isFree = stage.at === 'idle' || stage.at === 'not-claimed';
  return (
    <div className={styles.panel} role="group" aria-label={words.title}>
      <div>
        <h3 className={styles.title}>{words.title}</h3>
        <p className={styles.explanation}>{code === null ? words.noCode : words.explanation}</p>
      </div>
      {code !== null && (
        <Pane title="JavaScript" text={code}>
          <Code text={code} language="js" exact />
        </Pane>
      )}
      {stage.at === 'not-claimed' && (
        <Notice
          tone="bad"
          title={words.notClaimed}
          detail={<ServerMessage coded={[messageOfError(stage.error)]} message={stage.error.message} />}
        />
      )}
      {isFree && holder === 'us' && <Notice title={words.begun} />}
      {isFree && holder !== 'others' && (
        <div className={styles.actions}>
          {code !== null && (
            <Button look="primary" icon="play" onClick={() => void execute()}>
              {words.run}
            </Button>
          )}
          <Button onClick={() => void decline()}>{words.decline}</Button>
        </div>
      )}
      {(stage.at === 'claiming' || stage.at === 'running' || stage.at === 'sending') && (
        <p className={styles.busy} role="status">
          <Spinner /> {words[stage.at]}
        </p>
      )}
      {stage.at === 'not-sent' && (
        <Notice
          tone="bad"
          title={words.notSent}
          detail={<ServerMessage coded={[messageOfError(stage.error)]} message={stage.error.message} />}
          actions={<Button onClick={() => void deliver(stage.token, stage.result)}>{words.sendAgain}</Button>}
        />
      )}
      {holder === 'others' && <Notice title={words.elsewhere} />}
      {holder !== 'others' && stage.at === 'taken' && <Notice title={words.takenElsewhere} />}
    </div>
  );
}

/** Whether the server says that the call is not ours to answer. */
function isConflict(error: unknown): boolean {
  return error instanceof ApiError && (error.status === 409 || error.status === 403);
}
