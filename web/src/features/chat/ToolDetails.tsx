import type { Attachment, Stage } from '@/api/generated/events';
import { formatBytes } from '@/lib/bytes';
import { useSpeech } from '@/lib/i18n/locale';
import { firstString, layOutJson } from '@/lib/json-text';
import { formatDuration } from '@/lib/time';
import { Code, VisibleText } from '@/ui/Code';
import { Icon } from '@/ui/Icon';
import { Pane } from '@/ui/Pane';
import { isForBrowser } from './call-view';
import type { Call } from './run-state';
import { useTrailWords } from './use-trail-words';
import styles from './ToolDetails.module.css';

/** Everything about a call. */
export function ToolDetails({ call }: { call: Call }) {
  const { t, tag } = useSpeech();
  const { output, failure, progress } = call;
  const kept = output === null ? '' : formatBytes(new TextEncoder().encode(output.text).length, tag);
  return (
    <>
      {isForBrowser(call) ? (
        <CodePane code={firstString(call.input)} />
      ) : (
        <JsonPane title={t.tools.arguments} text={call.input} />
      )}
      {progress !== '' && (
        <Pane title={t.tools.progress} text={progress}>
          {progress}
        </Pane>
      )}
      {output !== null && <JsonPane title={t.tools.result} text={output.text} />}
      {output?.whole_bytes && <p className={styles.note}>{t.tools.cut(kept, formatBytes(output.whole_bytes, tag))}</p>}
      {output?.attachments && output.attachments.length > 0 && (
        <div className={styles.attachments} role="group" aria-label={t.tools.attachments}>
          {output.attachments.map((attachment) => (
            <AttachmentView key={attachment.url} {...attachment} />
          ))}
        </div>
      )}
      {call.state === 'unknown' && <p className={styles.note}>{t.tools.unknownHint}</p>}
      {failure?.retry_after_ms && (
        <p className={styles.note}>{t.tools.retryAfter(formatDuration(failure.retry_after_ms, tag))}</p>
      )}
      {call.trail.length > 0 && <Trail stages={call.trail} />}
    </>
  );
}

function CodePane({ code }: { code: string }) {
  return (
    <Pane title="JavaScript" text={code}>
      <Code text={code} language="js" />
    </Pane>
  );
}

function JsonPane({ title, text }: { title: string; text: string }) {
  const laidOut = layOutJson(text);
  return (
    <Pane title={title} text={laidOut ?? text}>
      {laidOut === null ? <VisibleText text={text} /> : <Code text={laidOut} language="json" />}
    </Pane>
  );
}

const PICTURES = new Set(['image/png', 'image/jpeg', 'image/gif', 'image/webp']);

/** Only what is kept here is shown: an address elsewhere would tell somebody that it was looked at. */
function AttachmentView({ media_type, name, url }: Attachment) {
  const isHere = url.startsWith('/') && !url.startsWith('//');
  if (PICTURES.has(media_type) && (isHere || url.startsWith(`data:${media_type};base64,`))) {
    return <img className={styles.picture} src={url} alt={name} />;
  }
  const words = (
    <>
      <Icon name="file" size={14} />
      {name}
    </>
  );
  if (!isHere) return <span className={styles.file}>{words}</span>;
  return (
    <a className={styles.file} href={url} download={name}>
      {words}
    </a>
  );
}

function Trail({ stages }: { stages: Stage[] }) {
  const { t } = useSpeech();
  const wordsOf = useTrailWords();
  return (
    <div>
      <p className={styles.trailHead}>{t.tools.trail}</p>
      <dl className={styles.trail}>
        {stages.map((stage, index) => (
          // The order is the meaning: a stage may come twice.
          <div key={index} className={styles.stage}>
            <dt>{t.tools.stages[stage.stage]}</dt>
            <dd>{wordsOf(stage)}</dd>
          </div>
        ))}
      </dl>
    </div>
  );
}
