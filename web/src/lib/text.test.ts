import { expect, test } from 'vitest';
import { delayMs } from './backoff';
import { firstString, layOutJson } from './json-text';
import { pathOf, routeOf } from './paths';
import { ageOf, formatDuration } from './time';
import { visiblePieces } from './visible-text';

test('JSON is laid out without touching a number or a string', () => {
  const text = '{"n":12345678901234567890.10,"s":"a, {b}: \\u0041","e":[],"o":{},"l":[1,[true,null]]}';
  expect(layOutJson(text)).toBe(
    '{\n  "n": 12345678901234567890.10,\n  "s": "a, {b}: \\u0041",\n  "e": [],\n  "o": {},\n  "l": [\n    1,\n    [\n      true,\n      null\n    ]\n  ]\n}',
  );
  expect(layOutJson('{"a":')).toBeNull();
});

test('a call is recognised by its first text, also while that is being written', () => {
  expect(firstString('{"n": 1, "code": "6 * 7"}')).toBe('6 * 7');
  expect(firstString('{"code": "let a = \\"x')).toBe('let a = "x');
  expect(firstString('{"co')).toBe('');
});

function shown(text: string): string {
  return visiblePieces(text)
    .map((piece) => (piece.hidden ? `⟨${piece.text}⟩` : piece.text))
    .join('');
}

test('nothing hides in text that a person decides by', () => {
  expect(shown('rm \u202efdp.exe\u202c')).toBe('rm ⟨U+202E⟩fdp.exe⟨U+202C⟩');
  expect(shown('a\u200bb\tc\u0000\u{e0041}')).toBe('a⟨U+200B⟩b⟨U+0009⟩c⟨U+0000⟩⟨U+E0041⟩');
  expect(shown('line\nline 中文 😀')).toBe('line\nline 中文 😀');
});

test('routes and paths name the same things', () => {
  expect(routeOf('/c/a%20b')).toEqual({ page: 'conversation', id: 'a b' });
  expect(pathOf({ page: 'conversation', id: 'a b' })).toBe('/c/a%20b');
  for (const path of ['/', '/c/', '/c/a/b', '/x', '/c/%']) expect(routeOf(path)).toEqual({ page: 'new' });
});

test('tries come a second apart, then less often, never all at once', () => {
  expect(delayMs(0, () => 0)).toBe(1_000);
  expect(delayMs(0, () => 1)).toBe(1_500);
  expect(delayMs(2, () => 0)).toBe(4_000);
  expect(delayMs(50, () => 0)).toBe(10_000);
});

test('times are said as people say them', () => {
  expect([3, 1_240, 65_000, 120_000].map((ms) => formatDuration(ms, 'en'))).toEqual(['3ms', '1.2s', '1m 5s', '2m']);
  const now = new Date(2026, 10, 16, 9).getTime();
  const day = 86_400_000;
  expect([0, 1, 3, 10, 90].map((days) => ageOf(now - days * day, now))).toEqual([
    'today',
    'yesterday',
    'week',
    'month',
    'older',
  ]);
});
