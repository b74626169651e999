// Markdown that may still grow.
//
// What comes behind whole lines can only change their last block, so a document that grew is read again from the
// beginning of that block; all earlier blocks stay the same objects, and need not be drawn again.

import { parseBlocks } from './blocks';
import type { Block, Definitions } from './tree';

export interface Document {
  text: string;
  blocks: DocumentBlock[];
  definitions: Definitions;
}

export interface DocumentBlock {
  /** Where in the text it begins; does not change while the text grows. */
  start: number;
  block: Block;
}

export interface Reading {
  /** The same text as it was a moment ago, or its beginning. */
  previous?: Document | null;
  /** Whether more may come. */
  growing?: boolean;
}

export function parseMarkdown(text: string, { previous = null, growing = false }: Reading = {}): Document {
  if (previous !== null && text.startsWith(previous.text)) {
    // The last line may be half a line, which says nothing yet about the block it will belong to.
    const wholeLines = previous.text.lastIndexOf('\n') + 1;
    const last = Math.max(
      0,
      previous.blocks.findLastIndex(({ start }) => start < wholeLines),
    );
    const read = parseFrom(text, previous.blocks[last]?.start ?? 0, previous.definitions, growing);
    if (read.found.size === 0) return { ...previous, text, blocks: keepSame(previous.blocks, last, read.blocks) };
  }
  const first = parseFrom(text, 0, new Map(), growing);
  if (first.found.size === 0) return { text, blocks: first.blocks, definitions: first.found };
  return { text, blocks: parseFrom(text, 0, first.found, growing).blocks, definitions: first.found };
}

/** Reads one text again and again while it grows. */
export function growingReader(): (text: string, growing: boolean) => Document {
  let previous: Document | null = null;
  return (text, growing) => {
    previous = parseMarkdown(text, { previous, growing });
    return previous;
  };
}

/** Puts the blocks read again behind the others; one that lies between the same two places as before is the same. */
function keepSame(before: DocumentBlock[], from: number, read: DocumentBlock[]): DocumentBlock[] {
  const kept = read.map((block, index) => {
    const [old, oldNext] = [before[from + index], before[from + index + 1]];
    const isSame = old?.start === block.start && oldNext !== undefined && oldNext.start === read[index + 1]?.start;
    return isSame ? old : block;
  });
  return [...before.slice(0, from), ...kept];
}

function parseFrom(text: string, start: number, definitions: Definitions, growing: boolean) {
  const lines = withoutTabs(text.slice(start).replace(/\r\n?/g, '\n').split('\n'));
  const found = new Map<string, string>();
  const placed = parseBlocks(lines, { definitions, found, growing });
  const offsets = lineOffsets(text, start);
  const blocks: DocumentBlock[] = placed.map(({ block, line }) => ({ block, start: offsets[line] ?? start }));
  for (const [name, address] of definitions) if (found.get(name) === address) found.delete(name);
  return { blocks, found };
}

function lineOffsets(text: string, start: number): number[] {
  const offsets = [start];
  const lineEnd = /\r\n?|\n/g;
  lineEnd.lastIndex = start;
  while (lineEnd.exec(text)) offsets.push(lineEnd.lastIndex);
  return offsets;
}

/** A tab at the beginning of a line counts as four blanks, but in code it is what it is. */
function withoutTabs(lines: string[]): string[] {
  if (!lines.some((line) => line.includes('\t'))) return lines;
  let fence = '';
  return lines.map((line) => {
    const [, marks = '', info = ''] = /^[ \t]*(```+|~~~+)(.*)$/.exec(line) ?? [];
    if (fence !== '') {
      if (marks.startsWith(fence) && info.trim() === '') fence = '';
      return line;
    }
    fence = marks;
    return line.replace(/^[ \t]+/, (indent) => indent.replaceAll('\t', '    '));
  });
}
