import { useState } from 'react';
import type { Attachment } from '@/api/generated/events';
import { getFile, isKept } from '@/api/kept';
import { formatBytes } from '@/lib/bytes';
import { useI18n } from '@/lib/i18n/locale';
import { VisibleText } from '@/ui/Code';
import { Icon } from '@/ui/Icon';
import styles from './Attachments.module.css';
import { useFileUrl } from './use-file-url';

const PICTURES = new Set(['image/png', 'image/jpeg', 'image/gif', 'image/webp']);

/** What a call made, for the reader of the answer. */
export function Attachments({ attachments }: { attachments: Attachment[] }) {
  const { t } = useI18n();
  return (
    <div className={styles.attachments} role="group" aria-label={t.tools.attachments}>
      {attachments.map((attachment) => (
        <AttachmentView key={attachment.url} {...attachment} />
      ))}
    </div>
  );
}

/** Only what is kept here is shown: an address elsewhere would tell its server that it was looked at. */
function AttachmentView(attachment: Attachment) {
  const { media_type, name, url } = attachment;
  if (PICTURES.has(media_type)) {
    if (isKept(url)) return <KeptPicture {...attachment} />;
    if (url.startsWith(`data:${media_type};base64,`)) return <img className={styles.picture} src={url} alt={name} />;
  }
  return isKept(url) ? <KeptFile {...attachment} /> : <FileWords {...attachment} />;
}

function KeptPicture(attachment: Attachment) {
  const source = useFileUrl(attachment.url, attachment.media_type);
  if (source === null) return <span className={styles.waiting} aria-hidden />;
  if (source === 'missing') return <KeptFile {...attachment} />;
  return (
    <figure className={styles.figure}>
      <img className={styles.picture} src={source} alt={attachment.name} />
      <figcaption>
        <KeptFile {...attachment} />
      </figcaption>
    </figure>
  );
}

/** A file to be saved. */
function KeptFile(attachment: Attachment) {
  const { t } = useI18n();
  const [failed, setFailed] = useState(false);
  const save = () => {
    setFailed(false);
    getFile(attachment.url).then(
      (blob) => saveAs(blob, attachment.name),
      () => setFailed(true),
    );
  };
  return (
    <>
      <button type="button" className={styles.file} aria-label={t.tools.saveFile(attachment.name)} onClick={save}>
        <FileLabel {...attachment} />
      </button>
      {failed && <span role="alert">{t.tools.fileMissing}</span>}
    </>
  );
}

function FileWords(attachment: Attachment) {
  return (
    <span className={styles.file}>
      <FileLabel {...attachment} />
    </span>
  );
}

function FileLabel({ name, bytes }: Attachment) {
  const { tag } = useI18n();
  return (
    <>
      <Icon name="file" size={14} />
      <VisibleText text={name} />
      {typeof bytes === 'number' && <span className={styles.size}>{formatBytes(bytes, tag)}</span>}
    </>
  );
}

/** As bytes, whatever they are: a browser must not open what a stranger wrote as a page of ours. */
function saveAs(blob: Blob, name: string) {
  const url = URL.createObjectURL(blob.slice(0, blob.size, 'application/octet-stream'));
  const link = document.createElement('a');
  link.href = url;
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(url), 60_000);
}
