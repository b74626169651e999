import { useEffect, useState } from 'react';
import { useI18n } from '@/lib/i18n/locale';
import { IconButton } from './Button';

const SHOWN_MS = 1_500;

export function CopyButton({ text, label }: { text: string; label?: string }) {
  const { t } = useI18n();
  const [copied, setCopied] = useState(false);
  useEffect(() => {
    if (!copied) return;
    const timer = setTimeout(() => setCopied(false), SHOWN_MS);
    return () => clearTimeout(timer);
  }, [copied]);
  const copy = () => {
    copyText(text).then(
      () => setCopied(true),
      () => setCopied(false),
    );
  };
  return (
    <IconButton
      size="small"
      icon={copied ? 'check' : 'copy'}
      label={copied ? t.app.copied : (label ?? t.app.copy)}
      onClick={copy}
    />
  );
}

/** The clipboard exists only on secure origins; elsewhere a selection is copied, as browsers always could. */
async function copyText(text: string): Promise<void> {
  if (navigator.clipboard !== undefined) return navigator.clipboard.writeText(text);
  const area = document.createElement('textarea');
  area.value = text;
  area.style.position = 'fixed';
  area.style.opacity = '0';
  document.body.append(area);
  area.select();
  const isCopied = document.execCommand('copy');
  area.remove();
  if (!isCopied) throw new Error('nothing was copied');
}
