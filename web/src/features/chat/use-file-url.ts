import { useEffect, useState } from 'react';
import { getFile } from '@/api/kept';

/** An address in this page for the bytes of a kept file; null until they are here. */
export function useFileUrl(url: string, mediaType: string): string | 'missing' | null {
  const [source, setSource] = useState<string | null>(null);
  useEffect(() => {
    const stop = new AbortController();
    let made: string | null = null;
    getFile(url, stop.signal).then(
      (blob) => {
        if (stop.signal.aborted) return;
        made = URL.createObjectURL(blob.slice(0, blob.size, mediaType));
        setSource(made);
      },
      () => {
        if (!stop.signal.aborted) setSource('missing');
      },
    );
    return () => {
      stop.abort();
      if (made !== null) URL.revokeObjectURL(made);
    };
  }, [url, mediaType]);
  return source;
}
