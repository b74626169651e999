// Block markdown: lines in, blocks out. Containers gather their lines and are read by the same function again.
//
// Written for what models write. Indented text is never code and a line of dashes is always a rule, because that
// is what is meant; a list inside a list may be indented by two blanks whatever the marker's width.

import { nameOf, parseInline } from './inline';
import { isTableStart, parseTable } from './table';
import type { Block, Definitions, ListItem } from './tree';

export interface Context {
  definitions: Definitions;
  /** Definitions found on the way. */
  found: Map<string, string>;
  /** Whether more text may come behind the last line. */
  growing: boolean;
}

/** A block and the line it begins at. */
export interface Placed {
  block: Block;
  line: number;
}

/** Deeper containers are read as plain paragraphs. */
const DEPTH_MAX = 16;

const FENCE = /^( {0,3})(`{3,}|~{3,})[ \t]*([^`\n]*)$/;
const HEADING = /^ {0,3}(#{1,6})(?:[ \t]+|$)/;
const RULE = /^ {0,3}(?:(?:-[ \t]*){3,}|(?:\*[ \t]*){3,}|(?:_[ \t]*){3,})$/;
const QUOTE = /^ {0,3}> ?/;
const ITEM = /^( *)([-*+]|\d{1,9}[.)])(?:([ \t]+)|$)/;
const DEFINITION =
  /^ {0,3}\[([^\]^][^\]]{0,200})\]:[ \t]*<?([^\s>]{1,2000})>?(?:[ \t]+(?:"[^"]*"|'[^']*'|\([^)]*\)))?[ \t]*$/;

export function parseBlocks(lines: string[], context: Context, depth = 0): Placed[] {
  const blocks: Placed[] = [];
  for (let at = 0; at < lines.length;) {
    if (isBlank(lines[at])) {
      at += 1;
      continue;
    }
    const read = readBlock(lines, at, context, depth);
    if (read.block !== null) blocks.push({ block: read.block, line: at });
    at = read.next;
  }
  return blocks;
}

interface Read {
  /** None for a definition, which shows nothing. */
  block: Block | null;
  next: number;
}

function readBlock(lines: string[], at: number, context: Context, depth: number): Read {
  const line = lines[at] ?? '';
  const fence = FENCE.exec(line);
  if (fence) return readCode(lines, at, fence);
  if (HEADING.test(line)) return { block: heading(line, context), next: at + 1 };
  if (RULE.test(line)) return { block: { type: 'rule' }, next: at + 1 };
  if (depth < DEPTH_MAX) {
    if (QUOTE.test(line)) return readQuote(lines, at, context, depth);
    if (ITEM.test(line)) return readList(lines, at, context, depth);
  }
  if (isTableStart(lines, at, context.growing && depth === 0)) return parseTable(lines, at, context.definitions);
  const definition = DEFINITION.exec(line);
  if (definition?.[1] && definition[2]) {
    const name = nameOf(definition[1]);
    if (!context.found.has(name)) context.found.set(name, definition[2]);
    return { block: null, next: at + 1 };
  }
  return readParagraph(lines, at, context, depth);
}

function readCode(lines: string[], at: number, fence: RegExpExecArray): Read {
  const [, indent = '', marks = '', info = ''] = fence;
  const text: string[] = [];
  let next = at + 1;
  let closed = false;
  for (; next < lines.length && !closed; next += 1) {
    const line = lines[next] ?? '';
    closed = closesFence(line, marks);
    if (!closed) text.push(withoutIndent(line, indent.length));
  }
  const language = /^[^\s{]+/.exec(info)?.[0] ?? '';
  return { block: { type: 'code', language, text: text.join('\n'), closed }, next };
}

function closesFence(line: string, marks: string): boolean {
  const close = /^ {0,3}(`{3,}|~{3,})[ \t]*$/.exec(line)?.[1];
  return close !== undefined && close[0] === marks[0] && close.length >= marks.length;
}

function heading(line: string, context: Context): Block {
  const trimmed = line.trim();
  const level = /^#+/.exec(trimmed)?.[0].length ?? 1;
  const words = trimmed.slice(level).trim();
  const unclosed = /^#+$/.test(words) ? '' : words.replace(/[ \t]#+$/, '').trimEnd();
  return { type: 'heading', level, children: parseInline(unclosed, context.definitions) };
}

function readQuote(lines: string[], at: number, context: Context, depth: number): Read {
  const inner: string[] = [];
  let next = at;
  for (; next < lines.length; next += 1) {
    const line = lines[next] ?? '';
    if (QUOTE.test(line)) inner.push(line.replace(QUOTE, ''));
    else if (continuesParagraph(inner.at(-1), line)) inner.push(line);
    else break;
  }
  const blocks = parseBlocks(inner, context, depth + 1).map(({ block }) => block);
  return { block: { type: 'quote', blocks }, next };
}

function readList(lines: string[], at: number, context: Context, depth: number): Read {
  const kind = markerKind(lines[at]);
  const start = kind === '.' || kind === ')' ? Number.parseInt(lines[at]?.trim() ?? '', 10) : null;
  const items: ListItem[] = [];
  let tight = true;
  let next = at;
  for (;;) {
    const item = readItem(lines, next, context, depth);
    items.push(item.item);
    tight &&= item.tight;
    next = item.next;
    const following = skipBlank(lines, next);
    if (markerKind(lines[following]) !== kind || RULE.test(lines[following] ?? '')) break;
    if (following > next) tight = false;
    next = following;
  }
  return { block: { type: 'list', start, tight, items }, next };
}

/** What makes two items neighbours in one list: the same bullet, or the same mark behind the number. */
function markerKind(line: string | undefined): string | null {
  const marker = line === undefined ? undefined : ITEM.exec(line)?.[2];
  return marker?.at(-1) ?? null;
}

function readItem(lines: string[], at: number, context: Context, depth: number) {
  const first = lines[at] ?? '';
  const [, indent = '', marker = '', blanks = ''] = ITEM.exec(first) ?? [];
  const width = indent.length + marker.length + (blanks.length > 4 || blanks === '' ? 1 : blanks.length);
  const inner = [first.slice(width)];
  let next = at + 1;
  for (; next < lines.length; next += 1) {
    const line = lines[next] ?? '';
    if (isBlank(line)) {
      // A blank line belongs to the item only if something of the item follows.
      const following = lines[skipBlank(lines, next)];
      if (following === undefined || !isInside(following, indent.length, width)) break;
      inner.push('');
    } else if (isInside(line, indent.length, width)) {
      inner.push(withoutIndent(line, width));
    } else if (continuesParagraph(inner.at(-1), line)) {
      inner.push(line);
    } else break;
  }
  const task = /^\[([ xX])\][ \t]+/.exec(inner[0] ?? '');
  if (task) inner[0] = inner[0]?.slice(task[0].length) ?? '';
  const blocks = parseBlocks(inner, context, depth + 1);
  const tight = !inner.some((line, index) => isBlank(line) && blocks.some((placed) => placed.line > index));
  const item: ListItem = { done: task ? task[1] !== ' ' : null, blocks: blocks.map(({ block }) => block) };
  return { item, tight: tight || blocks.length < 2, next };
}

function isInside(line: string, markerIndent: number, width: number): boolean {
  const indent = indentOf(line);
  return indent >= width || (indent >= markerIndent + 2 && ITEM.test(line));
}

function readParagraph(lines: string[], at: number, context: Context, depth: number): Read {
  const growing = context.growing && depth === 0;
  const text = [lines[at]?.trim() ?? ''];
  let next = at + 1;
  while (next < lines.length) {
    const line = lines[next] ?? '';
    if (isBlank(line) || interruptsParagraph(line) || isTableStart(lines, next, growing)) break;
    text.push(line.trimStart());
    next += 1;
  }
  return { block: { type: 'paragraph', children: parseInline(text.join('\n').trimEnd(), context.definitions) }, next };
}

function interruptsParagraph(line: string): boolean {
  if (FENCE.test(line) || HEADING.test(line) || RULE.test(line) || QUOTE.test(line)) return true;
  const item = ITEM.exec(line);
  // A number in the middle of a sentence is no list, unless it begins one.
  return item?.[3] !== undefined && (!/\d/.test(item[2] ?? '') || /^1[.)]$/.test(item[2] ?? ''));
}

/** Whether a line goes on with the paragraph above it although its container's mark is missing. */
function continuesParagraph(above: string | undefined, line: string): boolean {
  if (above === undefined || isBlank(above) || isBlank(line) || interruptsParagraph(line) || ITEM.test(line))
    return false;
  return !FENCE.test(above) && !HEADING.test(above) && !RULE.test(above) && !above.startsWith('|');
}

function isBlank(line: string | undefined): boolean {
  return line !== undefined && line.trim() === '';
}

function skipBlank(lines: string[], from: number): number {
  let at = from;
  while (at < lines.length && isBlank(lines[at])) at += 1;
  return at;
}

function indentOf(line: string): number {
  return /^ */.exec(line)?.[0].length ?? 0;
}

function withoutIndent(line: string, width: number): string {
  return line.slice(Math.min(width, indentOf(line)));
}
