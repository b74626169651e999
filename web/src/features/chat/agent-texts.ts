import type { Agent } from '@/api/catalog';

/** What a person reads of an agent. */
export interface ShownAgent {
  title: string;
  description: string;
  questions: string[];
}

/** The agent in the reader's language, as far as it is translated; `tag` is that of `Intl`, such as `zh-CN`. */
export function showAgent(agent: Agent, tag: string): ShownAgent {
  const translated = findTranslation(agent, tag);
  const questions = translated?.example_questions?.length ? translated.example_questions : agent.example_questions;
  return {
    title: translated?.display_name || agent.display_name || agent.name,
    description: translated?.description || agent.description || '',
    questions: questions ?? [],
  };
}

/** The translation for just this language and region, or else one for the language. */
function findTranslation({ translations = {} }: Agent, tag: string) {
  const wanted = plain(tag);
  const all = Object.entries(translations);
  const exact = all.find(([language]) => plain(language) === wanted);
  const same = all.find(([language]) => languageOf(language) === languageOf(wanted));
  return (exact ?? same)?.[1];
}

function plain(tag: string): string {
  return tag.toLowerCase().replaceAll('_', '-');
}

function languageOf(tag: string): string {
  return plain(tag).split('-')[0] ?? '';
}
