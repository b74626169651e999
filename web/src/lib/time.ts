/** A span of time as people say it: `3ms`, `1.2s`, `2m 5s`. */
export function formatDuration(ms: number, locale: string): string {
  const unit = (value: number, name: string, digits = 0) =>
    new Intl.NumberFormat(locale, {
      style: 'unit',
      unit: name,
      // A narrow unit is not translated everywhere.
      unitDisplay: locale.startsWith('en') ? 'narrow' : 'short',
      maximumFractionDigits: digits,
    }).format(value);
  if (ms < 1_000) return unit(Math.max(0, Math.round(ms)), 'millisecond');
  if (ms < 10_000) return unit(ms / 1_000, 'second', 1);
  const seconds = Math.round(ms / 1_000);
  if (seconds < 60) return unit(seconds, 'second');
  const [minutes, rest] = [Math.floor(seconds / 60), seconds % 60];
  return rest === 0 ? unit(minutes, 'minute') : `${unit(minutes, 'minute')} ${unit(rest, 'second')}`;
}

export function formatTime(at: number, locale: string): string {
  return new Intl.DateTimeFormat(locale, { hour: 'numeric', minute: '2-digit' }).format(at);
}

export function formatDateTime(at: number, locale: string): string {
  return new Intl.DateTimeFormat(locale, { dateStyle: 'medium', timeStyle: 'short' }).format(at);
}

/** How long ago something was, roughly, for headings in a list. */
export type Age = 'today' | 'yesterday' | 'week' | 'month' | 'older';

export function ageOf(at: number, now: number): Age {
  const days = Math.round((startOfDay(now) - startOfDay(at)) / 86_400_000);
  if (days <= 0) return 'today';
  if (days === 1) return 'yesterday';
  if (days < 7) return 'week';
  return days < 30 ? 'month' : 'older';
}

function startOfDay(at: number): number {
  return new Date(at).setHours(0, 0, 0, 0);
}
