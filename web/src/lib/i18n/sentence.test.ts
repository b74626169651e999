import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import english from './codes/en.json';
import { type CodedMessage, sentenceOf } from './sentence';
import chinese from './codes/zh.json';

const en: Record<string, string> = english;
const zh: Record<string, string> = chinese;
const LIST = new URL('../../../../fixtures/codes.json', import.meta.url);
const sentences = JSON.parse(readFileSync(LIST, 'utf8')) as Record<
  string,
  { params: string[]; en: string; zh: string }
>;

function both(told: CodedMessage): (string | null)[] {
  return [sentenceOf(told, en, 'en'), sentenceOf(told, zh, 'zh-CN')];
}

test('every code that the server can send has a sentence in both languages, as the list has it', () => {
  expect(Object.keys(sentences).length).toBeGreaterThan(200);
  for (const [code, { params, ...texts }] of Object.entries(sentences)) {
    expect(en[code], code).toBe(texts.en);
    expect(zh[code], code).toBe(texts.zh);
    const told = { code, params: Object.fromEntries(params.map((name) => [name, `«${name}»`])) };
    for (const sentence of both(told)) {
      for (const name of params) expect(sentence, code).toContain(`«${name}»`);
      expect(sentence, code).not.toMatch(/[{}]/);
    }
  }
});

test('numbers, durations, sizes and times are written as the reader writes them', () => {
  expect(both({ code: 'tool_timed_out', params: { limit_ms: 90_000 } })).toEqual([
    'The tool did not answer within 1m 30s.',
    '工具在 1分钟 30秒 内没有回应。',
  ]);
  expect(both({ code: 'rows_read', params: { database: 'shop', count: 1 } })).toEqual(['shop: 1 row', 'shop：1 行']);
  expect(both({ code: 'rows_read', params: { database: 'shop', count: 2_000 } })[0]).toBe('shop: 2,000 rows');
});

test('a notice in a notice is part of the sentence', () => {
  const calls = { code: 'amount_calls', params: { count: 100 } };
  const told = { code: 'budget_used_up', params: { account: { code: 'budget_of_run' }, used: calls, limit: calls } };
  expect(both(told)).toEqual([
    'The budget of this run is used up: 100 calls of 100 calls.',
    '这次运行的预算已用完：已用 100 次调用，上限 100 次调用。',
  ]);
});

test('a list of notices is one sentence as long as it is short', () => {
  const types = [{ code: 'type_string' }, { code: 'type_null' }];
  const problem = { code: 'misfit_type', params: { types_any: types } };
  const problems = [
    { code: 'misfit_in_field', params: { field: 'to', problem } },
    { code: 'misfit_missing', params: { field: 'subject' } },
  ];
  expect(both({ code: 'arguments_do_not_fit', params: { problems } })).toEqual([
    'The arguments do not fit the tool: “to” must be a text or null; “subject” is missing',
    '参数不符合工具的要求：“to”应为文本或空值；缺少“subject”',
  ]);
  const long = Array.from({ length: 21 }, () => ({ code: 'misfit_more' }));
  expect(both({ code: 'arguments_do_not_fit', params: { problems: long } })).toEqual([null, null]);
  expect(both({ code: 'arguments_do_not_fit', params: { problems: [7] } })).toEqual([null, null]);
});

test('what is not known is not guessed, and endless nesting ends', () => {
  expect(both({ code: 'of_a_newer_server' })).toEqual([null, null]);
  expect(both({ code: 'constructor' })).toEqual([null, null]);
  expect(both({ code: 'no_such_tool' })).toEqual([null, null]);
  let deep: CodedMessage = { code: 'no_such_tool', params: { tool: 'x' } };
  for (let n = 0; n < 20; n++) deep = { code: 'call_cannot_be_made', params: { why: deep } };
  expect(both(deep)).toEqual([null, null]);
});

test('a text of a parameter is not read as a place for another', () => {
  const told = { code: 'http_status', params: { host: '{status} $& |a|b', status: 404 } };
  expect(both(told)[0]).toBe('{status} $& |a|b answered with status 404.');
});
