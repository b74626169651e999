import { expect, test } from 'vitest';
import { formatCount, formatMoney, formatNanos } from './money';

test.each([
  [0, '$0.00'],
  [0.0028, '$0.0028'],
  [0.00012345, '$0.00012'],
  [0.25, '$0.25'],
  [0.435, '$0.435'],
  [2, '$2.00'],
  [12.5, '$12.50'],
])('%d dollars are written as %s', (amount, expected) => {
  expect(formatMoney(amount, 'USD', 'en')).toBe(expected);
});

test('billionths and other currencies and languages are written as people do', () => {
  expect(formatNanos(105_000, 'USD', 'en')).toBe('$0.00011');
  expect(formatNanos(1_500_000_000, 'CNY', 'zh-CN')).toBe('¥1.50');
  expect(formatCount(46, 'en')).toBe('46');
  expect(formatCount(12_345, 'en')).toBe('12.3K');
});
