import { expect, test } from 'vitest';
import { fits } from './model-search';

const house = {
  name: 'house',
  vendor: 'openai',
  model: 'gpt-5-mini',
  mode: 'native',
  ready: true,
  variants: ['high'],
};

test.each([
  ['', true],
  ['HOU', true],
  ['gpt mini', true],
  ['openai high', true],
  ['gpt opus', false],
  ['claude', false],
])('“%s” finds the model: %s', (text, expected) => {
  expect(fits(house, text)).toBe(expected);
});
