import { parseInline } from './inline';
import type { Align, Block, Definitions, Inline } from './tree';

const DELIMITERS = /^ {0,3}\|?[ \t]*:?-+:?[ \t]*(?:\|[ \t]*:?-+:?[ \t]*){0,200}\|?[ \t]*$/;
const DELIMITERS_BEGUN = /^[ \t]*\|?[-:| \t]*$/;

/**
 * Whether a table begins here: a row and a line of dashes. While text comes in, a row that begins with a bar is
 * taken for one before its dashes are there, so that it does not first appear as text.
 */
export function isTableStart(lines: string[], at: number, growing: boolean): boolean {
  const head = lines[at] ?? '';
  const next = lines[at + 1];
  if (!head.includes('|')) return false;
  const isTail = growing && at + 2 >= lines.length;
  if (isTail && head.trimStart().startsWith('|') && (next === undefined || DELIMITERS_BEGUN.test(next))) return true;
  return next !== undefined && next.includes('-') && DELIMITERS.test(next) && cells(next).length === cells(head).length;
}

export function parseTable(lines: string[], at: number, definitions: Definitions): { block: Block; next: number } {
  const inline = (row: string[]): Inline[][] => row.map((cell) => parseInline(cell, definitions));
  const head = cells(lines[at] ?? '');
  const align = cells(lines[at + 1] ?? '').map(alignOf);
  const rows: Inline[][][] = [];
  let next = at + 2;
  for (; next < lines.length; next += 1) {
    const line = lines[next] ?? '';
    if (line.trim() === '' || !line.includes('|')) break;
    const row = cells(line);
    rows.push(inline(head.map((_, column) => row[column] ?? '')));
  }
  return { block: { type: 'table', align, head: inline(head), rows }, next: Math.min(next, lines.length) };
}

function alignOf(cell: string): Align {
  const left = cell.startsWith(':');
  const right = cell.endsWith(':');
  if (left && right) return 'center';
  return right ? 'right' : left ? 'left' : null;
}

/** Splits a row at its bars, except escaped ones and those inside code. */
function cells(line: string): string[] {
  const row = line
    .trim()
    .replace(/^\|/, '')
    .replace(/(?<!\\)\|$/, '');
  const found: string[] = [];
  let cell = '';
  let inCode = false;
  for (let at = 0; at < row.length; at += 1) {
    const char = row[at] ?? '';
    if (char === '\\' && row[at + 1] === '|') {
      cell += '|';
      at += 1;
    } else if (char === '|' && !inCode) {
      found.push(cell.trim());
      cell = '';
    } else {
      if (char === '`') inCode = !inCode && row.includes('`', at + 1);
      cell += char;
    }
  }
  return [...found, cell.trim()];
}
