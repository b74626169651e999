import { expect, test } from 'vitest';
import { en } from '@/lib/i18n/en';
import { zh } from '@/lib/i18n/zh';
import { warningWords } from './warning-words';

// As `helve-policy` writes them.
const WARNINGS = [
  'There is private data in this run, from query_database.',
  'There is also text that strangers may have written, from read_page (blog.test), search_web (api.tavily.com): it may have told the model to make this call.',
  "This call sends its arguments to evil.test:8443, which is not one of the operator's trusted hosts.",
  "This call gives its arguments to a program on the user's side, which Helve does not see.",
  "This call sends its arguments to a place that is not the operator's own.",
];

test('English says what the server says', () => {
  for (const warning of WARNINGS) expect(warningWords(warning, en.approvals.warn)).toBe(warning);
});

test('Chinese names the same sources and places', () => {
  const said = WARNINGS.map((warning) => warningWords(warning, zh.approvals.warn));
  for (const words of said) expect(words).toMatch(/[\u4e00-\u9fff]/);
  expect(said[0]).toContain('query_database');
  expect(said[1]).toContain('read_page (blog.test), search_web (api.tavily.com)');
  expect(said[2]).toContain('evil.test:8443');
});

test('what nobody has translated is shown as it came', () => {
  expect(warningWords('Something new.', zh.approvals.warn)).toBe('Something new.');
});
