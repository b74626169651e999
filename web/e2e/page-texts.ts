// What the page itself says: every text and label of it, but for what a model, a tool or a person wrote.

import type { Page } from 'playwright-core';
import { expect } from 'vitest';
import { zh } from '@/lib/i18n/zh';

/** Names that are the same in every language: of products and formats, and of what the tests have set up. */
const NAMES = new Set(
  `Helve JavaScript JSON Cookie SQL CSV Shift Python Markdown English helve token create TAVILY_API_KEY HTTP POST GET
  local link default demo odd house small volcano desk silent narrow strict brief thorough hermes m gpt mini qwen down
  calculator time glance barometer report dot outbox call operator allowance Ctrl O UTC images ms B kB MB GB doubao`.split(
    /\s+/,
  ),
);

/** Words in Latin letters; tools, variables, files, addresses and ids are names. */
const WORD = /[A-Za-z][\w’'./:@-]*/g;

/** The pieces of text that are on the page now, as a person or a screen reader has them. */
function textsOf(page: Page): Promise<string[]> {
  return page.evaluate(() => {
    const foreign = '[data-written-by], script, noscript, style, pre, code';
    const isOurs = (element: Element | null) => element !== null && element.closest(foreign) === null;
    const texts: string[] = [document.title];
    const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    while (walker.nextNode()) {
      const { parentElement, textContent } = walker.currentNode;
      if (isOurs(parentElement) && parentElement?.closest('textarea') === null) texts.push(textContent ?? '');
    }
    for (const element of document.querySelectorAll('[title], [aria-label], [placeholder], [alt]')) {
      if (!isOurs(element)) continue;
      for (const name of ['title', 'aria-label', 'placeholder', 'alt']) texts.push(element.getAttribute(name) ?? '');
    }
    // A conversation has its title from a person, and is called by it in other places too.
    const titles = [...document.querySelectorAll('[data-written-by=user]')].map(({ textContent }) => textContent ?? '');
    return texts
      .map((text) => titles.filter(Boolean).reduce((rest, title) => rest.replaceAll(title, ''), text))
      .filter((text) => text.trim() !== '');
  });
}

/** Looks at states of the page one after the other, and remembers every text with words of another language. */
export function watchTexts(page: Page, written: string[] = []) {
  // What a person may send as an example is code.
  const examples = zh.chat.suggestions.map(({ text }) => text);
  const left = new Set<string>();
  let seen = 0;
  const look = async () => {
    for (const text of await textsOf(page)) {
      seen += 1;
      const own = [...written, ...examples].reduce((rest, words) => rest.replaceAll(words, ''), text);
      const words = own.match(WORD)?.filter((word) => !NAMES.has(word) && !/[_./:@\d]/.test(word)) ?? [];
      if (words.length > 0) left.add(`${words.join(' ')}: ${text}`);
    }
  };
  const end = () => {
    expect(seen).toBeGreaterThan(10);
    expect([...left]).toEqual([]);
  };
  return { look, end };
}
