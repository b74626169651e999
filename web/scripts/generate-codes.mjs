// Makes the sentences of codes for the page, a file for each language, from the list that the Rust crates test against.
// With --check nothing is written; a stale file is an error.

import { readFile, writeFile } from 'node:fs/promises';

const LIST = new URL('../../fixtures/codes.json', import.meta.url);
const LANGUAGES = ['en', 'zh'];

const list = Object.entries(JSON.parse(await readFile(LIST, 'utf8')));
const isCheck = process.argv.includes('--check');

for (const language of LANGUAGES) {
  const target = new URL(`../src/lib/i18n/codes/${language}.json`, import.meta.url);
  const sentences = Object.fromEntries(list.map(([code, sentence]) => [code, sentence[language]]));
  const made = `${JSON.stringify(sentences, null, 2)}\n`;
  if (!isCheck) {
    await writeFile(target, made);
  } else if ((await readFile(target, 'utf8').catch(() => '')) !== made) {
    console.error(`src/lib/i18n/codes/${language}.json is stale: run \`npm run generate\``);
    process.exit(1);
  }
}
