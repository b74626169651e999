// Makes the texts that the page shares with the server, a file for each language: the sentences of codes, and the words
// for tools that come with Helve. The Rust crates read the same lists.
// With --check nothing is written; a stale file is an error.

import { mkdir, readFile, writeFile } from 'node:fs/promises';

const LANGUAGES = ['en', 'zh'];
const isCheck = process.argv.includes('--check');

async function read(name) {
  return JSON.parse(await readFile(new URL(`../../fixtures/${name}.json`, import.meta.url), 'utf8'));
}

/** The texts of one language from entries such as `"name": { "en": …, "zh": … }`. */
function inLanguage(entries, language) {
  return Object.fromEntries(Object.entries(entries).map(([name, texts]) => [name, texts[language]]));
}

async function keep(folder, language, texts) {
  const target = new URL(`../src/lib/i18n/${folder}/${language}.json`, import.meta.url);
  const made = `${JSON.stringify(texts, null, 2)}\n`;
  if (!isCheck) {
    await mkdir(new URL('.', target), { recursive: true });
    await writeFile(target, made);
  } else if ((await readFile(target, 'utf8').catch(() => '')) !== made) {
    console.error(`src/lib/i18n/${folder}/${language}.json is stale: run \`npm run generate\``);
    process.exit(1);
  }
}

const codes = await read('codes');
const toolWords = await read('tool-words');

for (const language of LANGUAGES) {
  await keep('codes', language, inLanguage(codes, language));
  const { names, ...others } = toolWords;
  // The names are in the first answer; the others are read with a question.
  await keep('tool-names', language, inLanguage(names, language));
  const parts = Object.entries(others).map(([part, entries]) => [part, inLanguage(entries, language)]);
  await keep('tool-words', language, Object.fromEntries(parts));
}
