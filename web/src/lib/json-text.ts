// JSON as text. It is laid out without being read into values, so that every number and every string stays
// exactly as it was written; what a person sees is what is sent.

const TOKEN = /\s*("(?:[^"\\]|\\.)*"|[{}[\],:]|[^\s{}[\],:"]+)\s*/y;

/** Puts each member on its own line, or returns null for what is no JSON. */
export function layOutJson(text: string): string | null {
  if (!isJson(text)) return null;
  let out = '';
  let depth = 0;
  const line = () => `\n${'  '.repeat(depth)}`;
  const tokens = tokensOf(text);
  tokens.forEach((token, index) => {
    const before = tokens[index - 1];
    const isEmpty = before === '{' || before === '[';
    if (token === '}' || token === ']') {
      depth -= 1;
      out += isEmpty ? token : line() + token;
    } else if (token === ',' || token === ':') {
      out += token === ',' ? token : ': ';
    } else {
      if (isEmpty || before === ',') out += line();
      out += token;
      if (token === '{' || token === '[') depth += 1;
    }
  });
  return out;
}

export function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

/** The members of an object with the text of their values; null for another value. The text must be JSON. */
export function splitMembers(text: string): { name: string; value: string }[] | null {
  const tokens = tokensOf(text);
  if (tokens[0] !== '{') return null;
  const members: { name: string; value: string }[] = [];
  let depth = 0;
  for (let at = 1; at < tokens.length - 1;) {
    const name = JSON.parse(tokens[at] ?? '""') as string;
    const first = at + 2;
    for (at = first; at < tokens.length - 1; at += 1) {
      const token = tokens[at] ?? '';
      if (depth === 0 && token === ',') break;
      if (token === '{' || token === '[') depth += 1;
      if (token === '}' || token === ']') depth -= 1;
    }
    members.push({ name, value: tokens.slice(first, at).join('') });
    at += 1;
  }
  return members;
}

function tokensOf(text: string): string[] {
  const tokens: string[] = [];
  for (TOKEN.lastIndex = 0; TOKEN.lastIndex < text.length;) {
    const token = TOKEN.exec(text)?.[1];
    if (token === undefined) break;
    tokens.push(token);
  }
  return tokens;
}

/** The first string among the members: what a person would recognise the call by. May be cut off while it is written. */
export function firstString(text: string): string {
  const found = /:\s*"((?:[^"\\]|\\.)*)/.exec(text)?.[1];
  if (found === undefined) return '';
  try {
    return JSON.parse(`"${found}"`) as string;
  } catch {
    return found;
  }
}
