// Text with nothing hidden in it: characters that have no shape of their own, or that turn the order of others
// around, are named, because a person decides by what is to be seen. Which ones they are is written down once, in
// crates/helve-types/src/visible.rs; a test there writes the table that is read here.

import { hidden, ordinaryInProse } from './hidden-characters.json';

export interface VisiblePiece {
  text: string;
  /** Whether the text is the name of a hidden character. */
  hidden: boolean;
}

/** In what a character stands: what is decided by, code, where tabs have a width, or an answer with emoji in it. */
export type Surroundings = 'call' | 'code' | 'prose';

const LINE_END = '\n';
const TAB = '\t';

const HIDDEN = pattern(hidden);
const ORDINARY = pattern(ordinaryInProse);

/** Splits text into what shows itself and what must be named. Line ends stay, being visible as such. */
export function visiblePieces(text: string, inside: Surroundings = 'call'): VisiblePiece[] {
  const pieces: VisiblePiece[] = [];
  let end = 0;
  for (const { 0: char, index } of text.matchAll(HIDDEN)) {
    if (isVisible(char, inside)) continue;
    if (index > end) pieces.push({ text: text.slice(end, index), hidden: false });
    pieces.push({ text: nameOfCharacter(char), hidden: true });
    end = index + char.length;
  }
  if (end < text.length) pieces.push({ text: text.slice(end), hidden: false });
  return pieces;
}

/** JSON of the same value in which no character is hidden: each is spelled as an escape. */
export function escapeHidden(json: string): string {
  return json.replace(HIDDEN, (char) =>
    char === LINE_END
      ? char
      : Array.from({ length: char.length }, (_, at) => `\\u${char.charCodeAt(at).toString(16).padStart(4, '0')}`).join(
          '',
        ),
  );
}

function isVisible(char: string, inside: Surroundings): boolean {
  if (char === LINE_END) return true;
  if (inside === 'code') return char === TAB;
  ORDINARY.lastIndex = 0;
  return inside === 'prose' && ORDINARY.test(char);
}

function pattern(ranges: number[][]): RegExp {
  const codes = ranges.map((range) => range.map((code) => `\\u{${code.toString(16)}}`).join('-'));
  return new RegExp(`[${codes.join('')}]`, 'gu');
}

function nameOfCharacter(char: string): string {
  const code = char.codePointAt(0) ?? 0;
  return `U+${code.toString(16).toUpperCase().padStart(4, '0')}`;
}
