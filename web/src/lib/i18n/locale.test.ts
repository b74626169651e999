import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { en } from './en';
import { preferredLocale } from './locale';
import { zh } from './zh';

test('the first language that is known is spoken', () => {
  expect(preferredLocale(['fr-FR', 'zh-Hant-TW', 'en'])).toBe('zh');
  expect(preferredLocale(['en-GB'])).toBe('en');
  expect(preferredLocale(['fr'])).toBe('en');
  expect(preferredLocale([])).toBe('en');
});

/** Every text of a table, with its place in it; functions are called with stand-ins. */
function texts(node: unknown, path = ''): [string, string][] {
  if (typeof node === 'string') return [[path, node]];
  if (typeof node === 'function') return texts(node('①', '②', '③'), path);
  if (typeof node === 'boolean') return [];
  return Object.entries(node as object).flatMap(([key, value]) => texts(value, `${path}.${key}`));
}

test('both tables say everything, and say it with what they are given', () => {
  const english = new Map(texts(en));
  const chinese = new Map(texts(zh));
  expect([...chinese.keys()]).toEqual([...english.keys()]);
  for (const [path, text] of chinese) {
    expect(text.trim(), path).not.toBe('');
    expect(text.includes('①'), path).toBe(english.get(path)?.includes('①'));
  }
});

/** Names, units and words that are the same in Chinese. */
const SAME =
  /\{[^}]*\}|①|②|③|Helve|tavily\.com|TAVILY_API_KEY|\[images\]|JavaScript|Python|JSON|Cookie|SQL|Shift|[\s\d\p{P}\p{S}]/gu;

test('no Chinese text has English words in it, and one word stands for one thing', () => {
  for (const [path, text] of texts(zh)) {
    // What a person may send as an example is code.
    if (path.startsWith('.chat.suggestions')) continue;
    expect(text.replace(SAME, ''), path).not.toMatch(/\p{Script=Latin}/u);
    expect(text, path).not.toMatch(/您|令牌数|token/iu);
  }
});

test('each repair that the server may name has words in both languages', () => {
  const source = readFileSync(new URL('../../../../crates/helve-json/src/repair.rs', import.meta.url), 'utf8');
  const display = /impl fmt::Display for Repair \{.*?\n\}/s.exec(source)?.[0] ?? '';
  const names = [...display.matchAll(/=> "(.+)",/g)].map(([, name]) => name);
  expect(names.length).toBeGreaterThan(10);
  for (const { tools } of [en, zh]) expect(Object.keys(tools.stage.repairs).toSorted()).toEqual(names.toSorted());
});
