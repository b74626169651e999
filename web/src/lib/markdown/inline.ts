// Inline markdown: one pass over the characters, then emphasis by matching delimiters from the inside out.
//
// Two deviations from CommonMark, both for chat: a single line end breaks the line, and emphasis works next to
// Chinese, Japanese and Korean characters, which are not separated by blanks.

import { matchEmphasis } from './emphasis';
import type { Definitions, Inline } from './tree';
import { safeHref } from './urls';

/** A piece of the line that may still change its meaning. */
export type Piece =
  | { kind: 'node'; node: Inline }
  | { kind: 'delimiter'; char: string; count: number; opens: boolean; closes: boolean }
  | { kind: 'bracket'; image: boolean; active: boolean; at: number };

/** Links and images do not nest deeper, and addresses and formulas are not longer, than people write them. */
const BRACKETS_MAX = 64;
const PARENTHESES_MAX = 32;
const SPAN_MAX = 4_000;

export function parseInline(text: string, definitions: Definitions): Inline[] {
  return new InlineParser(text, definitions).parse();
}

const ESCAPABLE = /[!-/:-@[-`{-~]/;
const URL_START = /https?:\/\/[\w[]/y;
const URL_BODY = /[\w\-.~:/?#[\]@!$&'()*+,;=%|]{1,2000}/y;
const PLAIN = /[^\\$`*_~![\]<&\nh]+/y;
const AUTOLINK = /<((?:https?:\/\/|mailto:)[^\s<>]+)>/y;
const LINE_BREAK_TAG = /<br\s*\/?>/iy;
const ENTITY = /&(?:#(\d{1,7})|#x([\da-f]{1,6})|(amp|lt|gt|quot|apos|nbsp));/iy;
const NAMED: Record<string, string> = { amp: '&', lt: '<', gt: '>', quot: '"', apos: "'", nbsp: '\u00a0' };

class InlineParser {
  #at = 0;
  #plain = '';
  #pieces: Piece[] = [];
  #brackets: number[] = [];
  /** For each length of a run of backticks, from where on none closes it. */
  #noTicksFrom = new Map<number, number>();
  /** Where what was looked for last comes next, and from where on that holds. */
  #ahead = new Map<string, { from: number; at: number }>();

  constructor(
    readonly text: string,
    readonly definitions: Definitions,
  ) {}

  parse(): Inline[] {
    while (this.#at < this.text.length) {
      const plain = matchAt(PLAIN, this.text, this.#at)?.[0];
      if (plain === undefined && this.#special()) continue;
      const taken = plain ?? this.text[this.#at] ?? '';
      this.#plain += taken;
      this.#at += taken.length;
    }
    this.#flush();
    return matchEmphasis(this.#pieces.map(bracketAsText));
  }

  /** Takes what means something here, or says that it is a plain character. */
  #special(): boolean {
    switch (this.text[this.#at]) {
      case '\\':
        return this.#math('\\(', '\\)') || this.#math('\\[', '\\]') || this.#escape();
      case '$':
        return this.#math('$$', '$$');
      case '`':
        return this.#code();
      case '*':
      case '_':
      case '~':
        return this.#delimiter();
      case '!':
        return this.text[this.#at + 1] === '[' && this.#openBracket(true);
      case '[':
        return this.#openBracket(false);
      case ']':
        return this.#closeBracket();
      case '<':
        return this.#tag();
      case '&':
        return this.#entity();
      case '\n':
        return this.#lineEnd();
      case 'h':
        return this.#bareUrl();
      default:
        return false;
    }
  }

  #flush(): void {
    if (this.#plain !== '') this.#pieces.push({ kind: 'node', node: { type: 'text', text: this.#plain } });
    this.#plain = '';
  }

  #push(node: Inline, next: number): true {
    this.#flush();
    this.#pieces.push({ kind: 'node', node });
    this.#at = next;
    return true;
  }

  #escape(): boolean {
    const next = this.text[this.#at + 1];
    if (next === '\n') return this.#push({ type: 'break' }, this.#at + 2);
    if (next === undefined || !ESCAPABLE.test(next)) return false;
    this.#plain += next;
    this.#at += 2;
    return true;
  }

  #math(open: string, close: string): boolean {
    if (!this.text.startsWith(open, this.#at)) return false;
    const end = this.#find(close, this.#at + open.length);
    if (end < 0) return false;
    const stop = end + close.length;
    return this.#push({ type: 'math', text: this.text.slice(this.#at, stop) }, stop);
  }

  #code(): boolean {
    const count = runLength(this.text, this.#at);
    const close = this.#closingTicks(this.#at + count, count);
    if (close < 0) {
      this.#plain += '`'.repeat(count);
      this.#at += count;
      return true;
    }
    let text = this.text.slice(this.#at + count, close).replaceAll('\n', ' ');
    if (/^ .* $/.test(text) && text.trim() !== '') text = text.slice(1, -1);
    return this.#push({ type: 'code', text }, close + count);
  }

  #closingTicks(from: number, count: number): number {
    if (from >= (this.#noTicksFrom.get(count) ?? Number.POSITIVE_INFINITY)) return -1;
    for (let at = this.text.indexOf('`', from); at >= 0; at = this.text.indexOf('`', at)) {
      const length = runLength(this.text, at);
      if (length === count) return at;
      at += length;
    }
    this.#noTicksFrom.set(count, from);
    return -1;
  }

  #delimiter(): boolean {
    const char = this.text[this.#at] ?? '';
    const count = runLength(this.text, this.#at);
    const next = this.#at + count;
    if (char === '~' && count !== 2) {
      this.#plain += char.repeat(count);
      this.#at = next;
      return true;
    }
    this.#flush();
    this.#pieces.push({ kind: 'delimiter', char, count, ...flanks(this.text, this.#at, next, char) });
    this.#at = next;
    return true;
  }

  #openBracket(image: boolean): boolean {
    if (this.#brackets.length >= BRACKETS_MAX) return false;
    this.#flush();
    this.#brackets.push(this.#pieces.length);
    this.#at += image ? 2 : 1;
    this.#pieces.push({ kind: 'bracket', image, active: true, at: this.#at });
    return true;
  }

  #closeBracket(): boolean {
    const index = this.#brackets.pop();
    const opener = index === undefined ? undefined : this.#pieces[index];
    if (index === undefined || opener?.kind !== 'bracket' || !opener.active) return false;
    const target = this.#target(opener.at);
    if (target === null) return false;
    this.#flush();
    const inner = this.#pieces.splice(index).slice(1);
    const href = safeHref(target.address);
    const children = matchEmphasis(inner.map(bracketAsText));
    if (opener.image) return this.#push({ type: 'image', href, alt: textOf(children) }, target.next);
    // A link inside a link would be two places to go with one click.
    for (const open of this.#brackets) {
      const piece = this.#pieces[open];
      if (piece?.kind === 'bracket' && !piece.image) piece.active = false;
    }
    if (href !== null) return this.#push({ type: 'link', href, children }, target.next);
    const words: Piece[] = children.map((node) => ({ kind: 'node', node }));
    this.#pieces.push(...words);
    this.#at = target.next;
    return true;
  }

  /** What follows the bracket that closes at the cursor: `(address "title")`, `[name]`, or nothing at all. */
  #target(openedAt: number): { address: string; next: number } | null {
    const after = this.#at + 1;
    if (this.text[after] === '(') {
      const inline = this.#inlineTarget(after + 1);
      if (inline !== null) return inline;
    }
    let name = this.text.slice(openedAt, this.#at);
    let next = after;
    if (this.text[after] === '[') {
      const end = this.#find(']', after);
      if (end < 0) return null;
      name = this.text.slice(after + 1, end) || name;
      next = end + 1;
    }
    const address = this.definitions.get(nameOf(name));
    return address === undefined ? null : { address, next };
  }

  /** Reads `address "title")` behind an opening parenthesis; parentheses in the address must balance. */
  #inlineTarget(from: number): { address: string; next: number } | null {
    const { text } = this;
    let at = skipBlanks(text, from);
    const start = at;
    let address: string;
    if (text[at] === '<') {
      const end = this.#find('>', at);
      if (end < 0 || text.slice(at, end).includes('\n')) return null;
      address = text.slice(at + 1, end);
      at = end + 1;
    } else {
      let depth = 0;
      const limit = Math.min(text.length, start + SPAN_MAX);
      for (; at < limit; at += 1) {
        const char = text[at];
        if (char === ' ' || char === '\n' || char === '\t') break;
        if (char === '(') depth += 1;
        if (depth > PARENTHESES_MAX) return null;
        if (char === ')' && depth === 0) break;
        if (char === ')') depth -= 1;
        if (char === '\\') at += 1;
      }
      address = text.slice(start, at).replace(/\\([!-/:-@[-`{-~])/g, '$1');
    }
    at = skipBlanks(text, at);
    const quote = text[at];
    if (quote === '"' || quote === "'") {
      const end = this.#find(quote, at + 1);
      if (end < 0) return null;
      at = skipBlanks(text, end + 1);
    }
    return text[at] === ')' ? { address, next: at + 1 } : null;
  }

  /** Looks ahead, but not further than people write; many vain looks cost one. */
  #find(what: string, from: number): number {
    let { from: since, at } = this.#ahead.get(what) ?? { from: Number.POSITIVE_INFINITY, at: 0 };
    if (from < since || from > at) {
      const found = this.text.indexOf(what, from);
      [since, at] = [from, found < 0 ? Number.POSITIVE_INFINITY : found];
      this.#ahead.set(what, { from: since, at });
    }
    return at - from < SPAN_MAX ? at : -1;
  }

  #tag(): boolean {
    const tag = matchAt(LINE_BREAK_TAG, this.text, this.#at);
    if (tag) return this.#push({ type: 'break' }, this.#at + tag[0].length);
    const link = matchAt(AUTOLINK, this.text, this.#at);
    const address = link?.[1];
    const href = address === undefined ? null : safeHref(address);
    if (!link || address === undefined || href === null) return false;
    const text = address.replace(/^mailto:/, '');
    return this.#push({ type: 'link', href, children: [{ type: 'text', text }] }, this.#at + link[0].length);
  }

  #entity(): boolean {
    const match = matchAt(ENTITY, this.text, this.#at);
    if (!match) return false;
    const [whole, decimal, hex, name] = match;
    const code = decimal ? Number(decimal) : hex ? Number.parseInt(hex, 16) : null;
    this.#plain += code === null ? (NAMED[name?.toLowerCase() ?? ''] ?? whole) : characterOf(code);
    this.#at += whole.length;
    return true;
  }

  #lineEnd(): boolean {
    this.#plain = this.#plain.trimEnd();
    return this.#push({ type: 'break' }, this.#at + 1);
  }

  #bareUrl(): boolean {
    const before = this.text[this.#at - 1];
    if (before !== undefined && /[A-Za-z0-9_]/.test(before)) return false;
    // Inside the words of a link an address is only words.
    if (this.#brackets.length > 0 || !matchAt(URL_START, this.text, this.#at)) return false;
    const body = matchAt(URL_BODY, this.text, this.#at)?.[0] ?? '';
    const address = withoutTrailingMarks(body);
    const href = safeHref(address);
    if (href === null) return false;
    return this.#push({ type: 'link', href, children: [{ type: 'text', text: address }] }, this.#at + address.length);
  }
}

function bracketAsText(piece: Piece): Piece {
  if (piece.kind !== 'bracket') return piece;
  return { kind: 'node', node: { type: 'text', text: piece.image ? '![' : '[' } };
}

function matchAt(pattern: RegExp, text: string, at: number): RegExpExecArray | null {
  pattern.lastIndex = at;
  return pattern.exec(text);
}

function runLength(text: string, at: number): number {
  const char = text[at];
  let end = at + 1;
  while (text[end] === char) end += 1;
  return end - at;
}

const SPACE = /^[\s\u00a0]?$/u;
const PUNCTUATION = /^[\p{P}\p{S}]$/u;
const WIDE = /^[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}\u3000-\u303f\uff00-\uffef]$/u;

/** Whether a run of `*`, `_` or `~` may begin or end emphasis, by what stands on either side of it. */
function flanks(text: string, from: number, to: number, char: string): { opens: boolean; closes: boolean } {
  const before = characterBefore(text, from);
  const after = to < text.length ? String.fromCodePoint(text.codePointAt(to) ?? 32) : '';
  const wide = WIDE.test(before) || WIDE.test(after);
  const left =
    !SPACE.test(after) && (!PUNCTUATION.test(after) || SPACE.test(before) || PUNCTUATION.test(before) || wide);
  const right =
    !SPACE.test(before) && (!PUNCTUATION.test(before) || SPACE.test(after) || PUNCTUATION.test(after) || wide);
  if (char !== '_') return { opens: left, closes: right };
  return { opens: left && (!right || PUNCTUATION.test(before)), closes: right && (!left || PUNCTUATION.test(after)) };
}

function characterBefore(text: string, at: number): string {
  if (at === 0) return '';
  const low = text.charCodeAt(at - 1);
  return low >= 0xdc00 && low <= 0xdfff ? text.slice(at - 2, at) : text.slice(at - 1, at);
}

function characterOf(code: number): string {
  const valid = code > 0 && code <= 0x10ffff && !(code >= 0xd800 && code <= 0xdfff);
  return valid ? String.fromCodePoint(code) : '\ufffd';
}

function skipBlanks(text: string, from: number): number {
  let at = from;
  while (text[at] === ' ' || text[at] === '\n' || text[at] === '\t') at += 1;
  return at;
}

/** Marks at the end of an address belong to the sentence; a closing parenthesis only if none was opened. */
function withoutTrailingMarks(address: string): string {
  let unopened = countOf(address, ')') - countOf(address, '(');
  let end = address.length;
  for (; end > 0; end -= 1) {
    const char = address[end - 1] ?? '';
    if (char === ')') {
      if (unopened <= 0) break;
      unopened -= 1;
    } else if (!/[.,:;!?'"*_~|\]]/.test(char)) break;
  }
  return address.slice(0, end);
}

function countOf(text: string, char: string): number {
  return text.split(char).length - 1;
}

/** How a definition's name is compared. */
export function nameOf(name: string): string {
  return name.trim().replace(/\s+/g, ' ').toLowerCase();
}

/** The words of inline nodes, without their form. */
export function textOf(nodes: Inline[]): string {
  return nodes
    .map((node) => {
      if ('children' in node) return textOf(node.children);
      if (node.type === 'image') return node.alt;
      return node.type === 'break' ? ' ' : node.text;
    })
    .join('');
}
