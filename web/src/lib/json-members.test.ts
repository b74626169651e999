import { expect, test } from 'vitest';
import { labelOf, membersOf } from './json-members';

test('a form shows every member exactly', () => {
  expect(
    membersOf(
      '{ "to": "mei@example.org", "body":"line\\nline \\"x\\"", "n":12345678901234567890.10, "all" : true, "x":{"a":[1,2]}, "none":null }',
    ),
  ).toEqual([
    { name: 'to', text: 'mei@example.org', kind: 'text' },
    { name: 'body', text: 'line\nline "x"', kind: 'text' },
    { name: 'n', text: '12345678901234567890.10', kind: 'plain' },
    { name: 'all', text: 'true', kind: 'plain' },
    { name: 'x', text: '{\n  "a": [\n    1,\n    2\n  ]\n}', kind: 'json' },
    { name: 'none', text: 'null', kind: 'plain' },
  ]);
  expect(membersOf('{}')).toEqual([]);
});

test('what a form would not tell whole is no form', () => {
  for (const text of ['{"a":1,"a":2}', '{"a":1,"\\u0061":2}', '[1]', '"x"', '{"a":', ''])
    expect(membersOf(text), text).toBeNull();
});

test('names of arguments become words', () => {
  expect(['reply_to', 'replyTo', 'URL', 'max-items', '_', '收件人'].map(labelOf)).toEqual([
    'Reply to',
    'Reply to',
    'Url',
    'Max items',
    '_',
    '收件人',
  ]);
});
