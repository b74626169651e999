// Colours for code: comments, strings, numbers and keywords, by one small table for the families of languages.
// It need not be right about everything, only calm and fast.

export interface Token {
  kind: 'plain' | 'comment' | 'string' | 'number' | 'keyword';
  text: string;
}

interface Family {
  comment: string;
  string: string;
  keywords: string;
}

const QUOTED = String.raw`"(?:[^"\\\n]|\\.)*"?|'(?:[^'\\\n]|\\.)*'?`;
const SLASHES = String.raw`\/\/[^\n]*|\/\*[\s\S]*?(?:\*\/|$)`;

const FAMILIES = {
  script: {
    comment: SLASHES,
    string: `${QUOTED}|${String.raw`\`(?:[^\`\\]|\\[\s\S])*\`?`}`,
    keywords:
      'as async await break case catch class const continue default delete do else enum export extends false finally for from function if implements import in instanceof interface let new null of return static super switch this throw true try type typeof undefined var void while with yield',
  },
  system: {
    comment: SLASHES,
    string: String.raw`"(?:[^"\\]|\\[\s\S])*"?|'(?:[^'\\\n]|\\.)'`,
    keywords:
      'as async await auto bool break case char class const continue crate default defer do double dyn else enum extern false final float fn for func go goto if impl import in int interface let long loop match mod move mut namespace new nil null package private pub public ref return self short signed sizeof static struct super switch template this throw trait true try type typedef union unsafe unsigned use using var virtual void where while',
  },
  python: {
    comment: '#[^\\n]*',
    string: String.raw`"""[\s\S]*?(?:"""|$)|'''[\s\S]*?(?:'''|$)|` + QUOTED,
    keywords:
      'and as assert async await break class continue def del elif else except False finally for from global if import in is lambda None nonlocal not or pass raise return True try while with yield',
  },
  shell: {
    comment: '(?<=^|\\s)#[^\\n]*',
    string: String.raw`"(?:[^"\\]|\\[\s\S])*"?|'[^']*'?`,
    keywords: 'case do done elif else esac export fi for function if in local return set then unset until while',
  },
  data: { comment: '(?<=^|\\s)#[^\\n]*', string: QUOTED, keywords: 'true false null yes no on off' },
  query: {
    comment: '--[^\\n]*|\\/\\*[\\s\\S]*?(?:\\*\\/|$)',
    string: "'(?:[^']|'')*'?",
    keywords:
      'add alter and as asc begin between by case commit create delete desc distinct drop else end exists false from full group having in index inner insert into is join key left like limit not null offset on or order outer primary returning right rollback select set table then true union unique update using values view when where with',
  },
} satisfies Record<string, Family>;

const LANGUAGES: Record<string, keyof typeof FAMILIES> = {
  js: 'script',
  javascript: 'script',
  jsx: 'script',
  mjs: 'script',
  ts: 'script',
  typescript: 'script',
  tsx: 'script',
  json: 'script',
  jsonc: 'script',
  json5: 'script',
  rust: 'system',
  rs: 'system',
  go: 'system',
  c: 'system',
  h: 'system',
  cpp: 'system',
  'c++': 'system',
  java: 'system',
  kotlin: 'system',
  swift: 'system',
  cs: 'system',
  csharp: 'system',
  zig: 'system',
  dart: 'system',
  scala: 'system',
  py: 'python',
  python: 'python',
  sh: 'shell',
  bash: 'shell',
  zsh: 'shell',
  shell: 'shell',
  console: 'shell',
  dockerfile: 'shell',
  makefile: 'shell',
  toml: 'data',
  yaml: 'data',
  yml: 'data',
  ini: 'data',
  sql: 'query',
  sqlite: 'query',
  postgresql: 'query',
};

const patterns = new Map<string, RegExp>();

/** Code longer than this is shown plain. */
const CHARACTERS_MAX = 20_000;

export function codeTokens(code: string, language: string): Token[] {
  const family = LANGUAGES[language.toLowerCase()];
  if (family === undefined || code.length > CHARACTERS_MAX) return [{ kind: 'plain', text: code }];
  const tokens: Token[] = [];
  let end = 0;
  for (const match of code.matchAll(patternOf(family))) {
    if (match.index > end) tokens.push({ kind: 'plain', text: code.slice(end, match.index) });
    const kind =
      match[1] !== undefined
        ? 'comment'
        : match[2] !== undefined
          ? 'string'
          : match[3] !== undefined
            ? 'number'
            : 'keyword';
    tokens.push({ kind, text: match[0] });
    end = match.index + match[0].length;
  }
  if (end < code.length) tokens.push({ kind: 'plain', text: code.slice(end) });
  return tokens;
}

function patternOf(name: keyof typeof FAMILIES): RegExp {
  const known = patterns.get(name);
  if (known) return known;
  const { comment, string, keywords } = FAMILIES[name];
  const flags = name === 'query' ? 'gim' : 'gm';
  const words = keywords.replaceAll(' ', '|');
  const pattern = new RegExp(
    `(${comment})|(${string})|(?<![\\w$])(\\d[\\w.]*)|(?<![\\w$.])(?:${words})(?![\\w$])`,
    flags,
  );
  patterns.set(name, pattern);
  return pattern;
}
