import { expect, test } from 'vitest';
import type { CallQuestion } from '@/api/approvals';
import { sentenceOf } from '@/lib/i18n/sentence';
import zh from '@/lib/i18n/codes/zh.json';
import { cautionsOf, reasonOf } from './reasons';

const say = (told: { code: string }) => sentenceOf(told, zh, 'zh-CN');
const asked = { because: 'it changes something', warnings: ['There is private data.'] } as CallQuestion;

test('reasons and warnings are said in the language of the reader', () => {
  const reasons = [
    { code: 'asks_after_repeats', params: { tool: 'time', count: 3 } },
    { code: 'asks_for_change', params: {} },
  ];
  const cautions = [{ code: 'leak_private', params: { sources: 'query_database' } }];
  expect(reasonOf({ ...asked, reasons }, say)).toBe('“time”已用同样的参数连续调用 3 次。会改变数据。');
  expect(cautionsOf({ ...asked, cautions }, say)).toEqual(['这次运行中有私密数据，来自 query_database。']);
});

test('what an older or a newer server says is shown as it says it, and never in part', () => {
  expect(reasonOf(asked, say)).toBe('it changes something');
  expect(cautionsOf(asked, say)).toEqual(['There is private data.']);
  const reasons = [
    { code: 'asks_for_change', params: {} },
    { code: 'of_a_newer_server', params: {} },
  ];
  expect(reasonOf({ ...asked, reasons }, say)).toBe('it changes something');
});
