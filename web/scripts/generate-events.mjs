// Makes src/api/generated/events.ts from the schema that the Rust crates keep as a golden file.
// With --check nothing is written; a stale file is an error.

import { readFile, writeFile } from 'node:fs/promises';
import { compile } from 'json-schema-to-typescript';

const SCHEMA = new URL('../../fixtures/schema/events.schema.json', import.meta.url);
const TARGET = new URL('../src/api/generated/events.ts', import.meta.url);
const BANNER = '// Made by `npm run generate` from fixtures/schema/events.schema.json; never edited.';

const schema = spread(JSON.parse(await readFile(SCHEMA, 'utf8')));
const made = await compile({ ...schema, title: 'Wire' }, 'Wire', {
  additionalProperties: false,
  bannerComment: BANNER,
  format: true,
  style: { singleQuote: true, printWidth: 110 },
});

if (process.argv.includes('--check')) {
  const kept = await readFile(TARGET, 'utf8').catch(() => '');
  if (kept !== made) {
    console.error('src/api/generated/events.ts is stale: run `npm run generate`');
    process.exit(1);
  }
} else {
  await writeFile(TARGET, made);
}

/**
 * Says "this and that" in the only way the generator hears: it ignores what stands beside a `$ref` or a `oneOf`,
 * where the schema means both.
 */
function spread(node) {
  if (Array.isArray(node)) return node.map(spread);
  if (node === null || typeof node !== 'object') return node;
  const { $ref, oneOf, ...rest } = Object.fromEntries(Object.entries(node).map(([key, value]) => [key, spread(value)]));
  const choice = $ref ? { $ref } : oneOf ? { oneOf } : null;
  if (choice === null) return saysNothing(rest) ? { ...rest, tsType: 'unknown' } : rest;
  if (rest.properties === undefined) return { ...choice, ...rest };
  const { description, ...members } = rest;
  return { allOf: [choice, members], ...(description && { description }) };
}

/** Whether a schema allows any value: it has words for people and nothing else. */
function saysNothing(node) {
  const keys = Object.keys(node);
  return keys.length === 1 && typeof node.description === 'string';
}
