import { expect, test } from 'vitest';
import { showAgent } from './agent-texts';

const clerk = {
  name: 'clerk',
  enabled: true,
  display_name: 'Clerk',
  description: 'Tells the weather.',
  example_questions: ['Will it rain?'],
  translations: { zh: { display_name: '天气员', example_questions: ['会下雨吗？'] } },
};

test('an agent is shown in the language of its reader, and in its own where it is not translated', () => {
  expect(showAgent(clerk, 'zh-CN')).toEqual({
    title: '天气员',
    description: 'Tells the weather.',
    questions: ['会下雨吗？'],
  });
  expect(showAgent(clerk, 'en')).toEqual({
    title: 'Clerk',
    description: 'Tells the weather.',
    questions: ['Will it rain?'],
  });
});

test('a translation for the region comes before one for the language', () => {
  const translations = { 'zh-TW': { display_name: '台灣' }, zh_CN: { display_name: '大陆' } };
  expect(showAgent({ ...clerk, translations }, 'zh-CN').title).toBe('大陆');
});

test('an agent that says nothing about itself has its name', () => {
  expect(showAgent({ name: 'default', enabled: true }, 'en')).toEqual({
    title: 'default',
    description: '',
    questions: [],
  });
});
