// Finds emphasis among pieces: each closing run of delimiters takes the nearest opening run that fits.

import type { Piece } from './inline';
import type { Inline } from './tree';

interface Open {
  char: string;
  count: number;
  /** Whether the run could also have closed, which matters for `*a**b*`. */
  closes: boolean;
  original: number;
  nodes: Inline[];
}

/** Emphasis deeper than this stays as it was written; it is never meant. */
const DEPTH_MAX = 40;

export function matchEmphasis(pieces: Piece[]): Inline[] {
  const root: Inline[] = [];
  const stack: Open[] = [];
  const here = () => stack.at(-1)?.nodes ?? root;

  for (const piece of pieces) {
    if (piece.kind === 'node') add(here(), piece.node);
    if (piece.kind !== 'delimiter') continue;
    let { count } = piece;
    if (piece.closes) {
      for (;;) {
        const at = stack.findLastIndex((open) => fits(open, piece, count));
        const open = stack[at];
        if (count === 0 || open === undefined) break;
        // What was opened in between is never closed.
        while (stack.length - 1 > at) giveUp(stack, root);
        const taken = piece.char === '~' ? 2 : Math.min(open.count, count, 2);
        const node = emphasis(piece.char, taken, open.nodes);
        open.count -= taken;
        count -= taken;
        if (open.count === 0) stack.pop();
        else open.nodes = [];
        add(here(), node);
      }
    }
    if (count === 0) continue;
    if (piece.opens && stack.length < DEPTH_MAX) {
      stack.push({ char: piece.char, count, closes: piece.closes, original: piece.count, nodes: [] });
    } else {
      add(here(), { type: 'text', text: piece.char.repeat(count) });
    }
  }
  while (stack.length > 0) giveUp(stack, root);
  return root;
}

function fits(open: Open, close: Extract<Piece, { kind: 'delimiter' }>, count: number): boolean {
  if (open.char !== close.char || (open.char === '~' && count < 2)) return false;
  // The rule of three: a run that both opens and closes does not match one whose sum with it is a multiple of three.
  if (open.closes || close.opens) {
    const sum = open.original + close.count;
    return sum % 3 !== 0 || (open.original % 3 === 0 && close.count % 3 === 0);
  }
  return true;
}

function emphasis(char: string, taken: number, children: Inline[]): Inline {
  if (char === '~') return { type: 'deleted', children };
  return { type: taken === 2 ? 'strong' : 'emphasis', children };
}

/** An opening run that nothing closes is text. */
function giveUp(stack: Open[], root: Inline[]): void {
  const open = stack.pop();
  if (open === undefined) return;
  const target = stack.at(-1)?.nodes ?? root;
  add(target, { type: 'text', text: open.char.repeat(open.count) });
  for (const node of open.nodes) add(target, node);
}

/** Neighbouring text is one text. */
function add(nodes: Inline[], node: Inline): void {
  const last = nodes.at(-1);
  if (node.type === 'text' && last?.type === 'text') nodes[nodes.length - 1] = { ...last, text: last.text + node.text };
  else nodes.push(node);
}
