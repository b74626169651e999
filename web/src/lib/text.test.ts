import { expect, test } from 'vitest';
import { delayMs } from './backoff';
import { firstString, layOutJson } from './json-text';
import { pathOf, routeOf } from './paths';
import { ageOf, formatDuration } from './time';
import { type Surroundings, escapeHidden, visiblePieces } from './visible-text';

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

function shown(text: string, inside?: Surroundings): string {
  return visiblePieces(text, inside)
    .map((piece) => (piece.hidden ? `⟨${piece.text}⟩` : piece.text))
    .join('');
}

test('nothing hides in text that a person decides by', () => {
  expect(shown('rm \u202efdp.exe\u202c')).toBe('rm ⟨U+202E⟩fdp.exe⟨U+202C⟩');
  expect(shown('a\u200bb\tc\u0000\u{e0041}')).toBe('a⟨U+200B⟩b⟨U+0009⟩c⟨U+0000⟩⟨U+E0041⟩');
  expect(shown('line\nline 中文 😀')).toBe('line\nline 中文 😀');
  expect(shown('\u3164\u00ad\u2028\ufeff\ud800')).toBe('⟨U+3164⟩⟨U+00AD⟩⟨U+2028⟩⟨U+FEFF⟩⟨U+D800⟩');
});

test('code keeps its tabs and an answer its emoji, and neither hides a direction', () => {
  expect(shown('\ta\u202eb\u3000', 'code')).toBe('\ta⟨U+202E⟩b⟨U+3000⟩');
  expect(shown('👩\u200d👧 ⚠\ufe0f\u3000\u202eb\u200b', 'prose')).toBe('👩\u200d👧 ⚠\ufe0f\u3000⟨U+202E⟩b⟨U+200B⟩');
});

test('no character is missing of those that Unicode says are not drawn', () => {
  const byUnicode =
    /[\p{Cc}\p{Cf}\p{Co}\p{Cs}\p{Zl}\p{Zp}\p{Zs}\p{Default_Ignorable_Code_Point}\p{Noncharacter_Code_Point}]/u;
  const missing: string[] = [];
  for (let code = 0; code <= 0x10ffff; code += 1) {
    const char = String.fromCodePoint(code);
    if (char !== ' ' && char !== '\n' && byUnicode.test(char) && !visiblePieces(char)[0]?.hidden)
      missing.push(code.toString(16));
  }
  expect(missing).toEqual([]);
});

test('arguments to be edited hide nothing and mean the same', () => {
  const json = '{"to":"a\u202eb\u{e0041}\u3164","x":"中 😀"}';
  const spelled = escapeHidden(json);
  expect(spelled).toBe('{"to":"a\\u202eb\\udb40\\udc41\\u3164","x":"中 😀"}');
  expect(JSON.parse(spelled)).toEqual(JSON.parse(json));
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
