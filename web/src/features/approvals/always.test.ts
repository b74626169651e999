import { expect, test } from 'vitest';
import { alwaysOf, endOf, sameArguments, usualReach } from './always';

test('a yes says how far it reaches and for how long', () => {
  const choice = { within: 'conversation', days: 7, isSame: false } as const;
  expect(alwaysOf(choice, '{"q":"x"}')).toEqual({ within: 'conversation', days: 7 });
  expect(endOf(choice, 1_000)).toBe(1_000 + 7 * 24 * 60 * 60 * 1_000);
});

test('a yes reaches over the conversation unless somebody says otherwise, and only over a run that goes in circles', () => {
  expect([usualReach({}), usualReach({ repeats: false }), usualReach({ repeats: true })]).toEqual([
    'conversation',
    'conversation',
    'run',
  ]);
});

test('a yes to the same arguments names each of them', () => {
  const choice = { within: 'agent', days: 30, isSame: true } as const;
  expect(alwaysOf(choice, '{"q":"x","n":3,"b":true,"z":null}')).toEqual({
    within: 'agent',
    days: 30,
    arguments: { q: 'x', n: 3, b: true, z: null },
  });
});

test('what conditions cannot say to the letter is not offered', () => {
  for (const text of ['{"q":"a*b"}', '{"q":["x"]}', '{"q":{"a":1}}', '{"a.b":1}', '{}', '[1]', '"x"', '{bad']) {
    expect(sameArguments(text), text).toBeNull();
  }
});
