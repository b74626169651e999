import { readFileSync, readdirSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';

// Imports flow `lib → ui, api → features → app`, and features do not know each other: only `app` joins them.
const ALLOWED: Record<string, string[]> = {
  lib: ['lib'],
  api: ['api', 'lib'],
  ui: ['ui', 'lib'],
  features: ['features', 'ui', 'api', 'lib'],
  app: ['app', 'features', 'ui', 'api', 'lib'],
  'main.tsx': ['app', 'ui', 'lib'],
};

const SRC = dirname(fileURLToPath(import.meta.url));

const files = readdirSync(SRC, { recursive: true, encoding: 'utf8' }).filter((file) => /\.tsx?$/.test(file));

/** The files of ours that a file imports, as paths below `src`. */
function importsOf(file: string): string[] {
  const text = readFileSync(join(SRC, file), 'utf8');
  return [...text.matchAll(/(?:from|import)\s*\(?\s*'((?:@\/|\.)[^']*)'/g)].map(([, path = '']) =>
    path.startsWith('@/') ? path.slice(2) : relative(SRC, join(SRC, dirname(file), path)),
  );
}

const arrows = files.flatMap((file) => importsOf(file).map((target) => [file, target] as const));

test('imports flow one way', () => {
  const wrong = arrows.filter(
    ([file, target]) => !ALLOWED[file.split('/')[0] ?? '']?.includes(target.split('/')[0] ?? ''),
  );
  expect(wrong).toEqual([]);
});

test('features do not import each other', () => {
  const feature = (path: string) => /^features\/([^/]+)/.exec(path)?.[1];
  const wrong = arrows.filter(
    ([file, target]) => feature(file) && feature(target) && feature(file) !== feature(target),
  );
  expect(wrong).toEqual([]);
});

test('components are named in Pascal case, the rest in kebab case', () => {
  const wrong = files.filter((file) => {
    const name =
      file
        .split('/')
        .at(-1)
        ?.replace(/(\.test)?\.tsx?$/, '') ?? '';
    const isComponent = file.endsWith('.tsx') && !['main', 'locale', 'lazy-part'].includes(name);
    return !(isComponent ? /^[A-Z]\w+$/ : /^[a-z][a-z0-9-]*$/).test(name);
  });
  expect(wrong).toEqual([]);
});

test('nothing makes HTML from text', () => {
  const wrong = files.filter((file) => {
    const text = file.includes('.test.') ? '' : readFileSync(join(SRC, file), 'utf8');
    return /dangerouslySetInnerHTML|\.(?:inner|outer)HTML\b|insertAdjacentHTML|document\.write|srcdoc/i.test(text);
  });
  expect(wrong).toEqual([]);
});
