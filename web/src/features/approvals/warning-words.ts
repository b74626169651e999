// What the server warns of, in the reader's language. The server's own words are shown where nobody has translated them.

export interface Warn {
  private: (from: string) => string;
  untrusted: (from: string) => string;
  host: (host: string) => string;
  client: string;
  nowhere: string;
}

type Pattern = [RegExp, (found: string, words: Warn) => string];

const PATTERNS: Pattern[] = [
  [/^There is private data in this run, from (.+)\.$/s, (from, words) => words.private(from)],
  [
    /^There is also text that strangers may have written, from (.+): it may have told the model to make this call\.$/s,
    (from, words) => words.untrusted(from),
  ],
  [
    /^This call sends its arguments to (\S+), which is not one of the operator's trusted hosts\.$/,
    (host, words) => words.host(host),
  ],
  [/^(This call gives its arguments to a program on the user's side, .+)$/, (_, words) => words.client],
  [/^(This call sends its arguments to a place that is not the operator's own\.)$/, (_, words) => words.nowhere],
];

export function warningWords(warning: string, words: Warn): string {
  for (const [pattern, say] of PATTERNS) {
    const found = pattern.exec(warning)?.[1];
    if (found !== undefined) return say(found, words);
  }
  return warning;
}
