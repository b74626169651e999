// Text with nothing hidden in it: characters that have no shape of their own, or that turn the order of others
// around, are named, because a person decides by what is to be seen.

export interface VisiblePiece {
  text: string;
  /** Whether the text is the name of a hidden character. */
  hidden: boolean;
}

// Controls, formats, private, unassigned and lone halves of characters; separators other than the plain blank; and
// what is made to be ignored when text is drawn, such as variation selectors and tags.
const HIDDEN = /[\p{Cc}\p{Cf}\p{Co}\p{Cn}\p{Cs}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}]|(?! )\p{Zs}/u;

/** Splits text into what shows itself and what must be named. Line ends stay, being visible as such. */
export function visiblePieces(text: string): VisiblePiece[] {
  const pieces: VisiblePiece[] = [];
  let plain = '';
  for (const char of text) {
    if (char === '\n' || !HIDDEN.test(char)) {
      plain += char;
      continue;
    }
    if (plain !== '') pieces.push({ text: plain, hidden: false });
    plain = '';
    pieces.push({ text: nameOfCharacter(char), hidden: true });
  }
  if (plain !== '') pieces.push({ text: plain, hidden: false });
  return pieces;
}

function nameOfCharacter(char: string): string {
  const code = char.codePointAt(0) ?? 0;
  return `U+${code.toString(16).toUpperCase().padStart(4, '0')}`;
}
