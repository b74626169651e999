/** A price or a cost as people write it. Small amounts keep two figures that say something: `$0.0012`. */
export function formatMoney(amount: number, currency: string, locale: string): string {
  const isSmall = amount > 0 && amount < 0.1;
  const digits = isSmall ? { maximumSignificantDigits: 2 } : { maximumFractionDigits: amount < 10 ? 3 : 2 };
  const options = { style: 'currency', currency, currencyDisplay: 'narrowSymbol', ...digits } as const;
  return new Intl.NumberFormat(locale, options).format(amount);
}

/** A cost in billionths of a currency's unit. */
export function formatNanos(nanos: number, currency: string, locale: string): string {
  return formatMoney(nanos / 1e9, currency, locale);
}

/** A number of tokens, roughly. */
export function formatCount(count: number, locale: string): string {
  return new Intl.NumberFormat(locale, { notation: 'compact', maximumFractionDigits: 1 }).format(count);
}
