import type { CutOff, RunId, Stage } from '@/api/generated/events';
import { useI18n } from '@/lib/i18n/locale';
import { firstString, layOutJson } from '@/lib/json-text';
import { formatDateTime, formatDuration } from '@/lib/time';
import { Code, VisibleText } from '@/ui/Code';
import { Pane } from '@/ui/Pane';
import { isForBrowser } from './call-view';
import type { Call } from './run-state';
import { useTrailWords } from './use-trail-words';
import styles from './ToolDetails.module.css';
import { WholeOutput } from './WholeOutput';

/** Everything about a call. */
export function ToolDetails({ call, run }: { call: Call; run: RunId | null }) {
  const { t, tag } = useI18n();
  const { output, failure, progress } = call;
  return (
    <>
      {isForBrowser(call) ? (
        <CodePane code={firstString(call.input)} />
      ) : (
        <JsonPane title={t.tools.arguments} text={call.input} />
      )}
      {progress !== '' && (
        <Pane title={t.tools.progress} text={progress}>
          <VisibleText text={progress} />
        </Pane>
      )}
      {call.subagent !== null && (
        <p className={styles.note}>
          {t.tools.subagentRun}: <a href={`/api/runs/${call.subagent}`}>{call.subagent}</a>
        </p>
      )}
      {output !== null && <JsonPane title={t.tools.result} text={output.text} />}
      {output?.metadata !== undefined && output?.metadata !== null && (
        <JsonPane title={t.tools.metadata} text={JSON.stringify(output.metadata)} />
      )}
      {output?.whole_bytes && run !== null && call.call !== null && (
        <WholeOutput
          run={run}
          call={call.call}
          keptBytes={new TextEncoder().encode(output.text).length}
          wholeBytes={output.whole_bytes}
        />
      )}
      {call.state === 'unknown' && <p className={styles.note}>{t.tools.unknownHint}</p>}
      {call.cutOff && <CutOffFacts cutOff={call.cutOff} />}
      {failure?.retry_after_ms && (
        <p className={styles.note}>{t.tools.retryAfter(formatDuration(failure.retry_after_ms, tag))}</p>
      )}
      {call.trail.length > 0 && <Trail stages={call.trail} />}
    </>
  );
}

/** What was sent when, and what the check tool said about it. */
function CutOffFacts({ cutOff }: { cutOff: CutOff }) {
  const { t, tag } = useI18n();
  return (
    <>
      <p className={styles.note}>{t.tools.sentAt(formatDateTime(cutOff.sent_at, tag))}</p>
      {cutOff.request && <JsonPane title={t.tools.sentRequest} text={cutOff.request} />}
      {cutOff.checked && <JsonPane title={t.tools.checked} text={cutOff.checked} />}
    </>
  );
}

function CodePane({ code }: { code: string }) {
  return (
    <Pane title="JavaScript" text={code}>
      <Code text={code} language="js" exact />
    </Pane>
  );
}

function JsonPane({ title, text }: { title: string; text: string }) {
  const laidOut = layOutJson(text);
  return (
    <Pane title={title} text={laidOut ?? text}>
      {laidOut === null ? <VisibleText text={text} /> : <Code text={laidOut} language="json" exact />}
    </Pane>
  );
}

function Trail({ stages }: { stages: Stage[] }) {
  const { t } = useI18n();
  const wordsOf = useTrailWords();
  return (
    <div>
      <p className={styles.trailHead}>{t.tools.trail}</p>
      <dl className={styles.trail}>
        {stages.map((stage, index) => (
          // The order is the meaning: a stage may come twice.
          <div key={index} className={styles.stage}>
            <dt>{t.tools.stages[stage.stage]}</dt>
            <dd>
              <VisibleText text={wordsOf(stage)} />
            </dd>
          </div>
        ))}
      </dl>
    </div>
  );
}
