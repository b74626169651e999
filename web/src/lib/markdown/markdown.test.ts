import { describe, expect, test } from 'vitest';
import { type Document, parseMarkdown } from './document';
import type { Block, Inline } from './tree';

/** The document in a short notation, so that a test shows what is meant. */
function shape(text: string): string {
  return parseMarkdown(text)
    .blocks.map(({ block }) => blockShape(block))
    .join(' ');
}

function blockShape(block: Block): string {
  switch (block.type) {
    case 'paragraph':
      return `p(${inlineShape(block.children)})`;
    case 'heading':
      return `h${block.level}(${inlineShape(block.children)})`;
    case 'code':
      return `code${block.closed ? '' : '…'}[${block.language}](${block.text})`;
    case 'quote':
      return `quote(${block.blocks.map(blockShape).join(' ')})`;
    case 'list': {
      const items = block.items.map(({ done, blocks }) => {
        const task = done === null ? '' : done ? '[x] ' : '[ ] ';
        return `- ${task}${blocks.map(blockShape).join(' ')}`;
      });
      return `${block.start === null ? 'ul' : `ol${block.start}`}${block.tight ? '' : '~'}(${items.join(' ')})`;
    }
    case 'table': {
      const rows = [block.head, ...block.rows].map((row) => row.map(inlineShape).join('|'));
      return `table<${block.align.map((align) => align?.[0] ?? '').join(',')}>(${rows.join(' / ')})`;
    }
    case 'rule':
      return 'rule';
  }
}

function inlineShape(nodes: Inline[]): string {
  return nodes
    .map((node) => {
      switch (node.type) {
        case 'text':
          return node.text;
        case 'code':
          return `\`${node.text}\``;
        case 'math':
          return `math{${node.text}}`;
        case 'strong':
          return `<b ${inlineShape(node.children)}>`;
        case 'emphasis':
          return `<i ${inlineShape(node.children)}>`;
        case 'deleted':
          return `<s ${inlineShape(node.children)}>`;
        case 'link':
          return `<a ${node.href} ${inlineShape(node.children)}>`;
        case 'image':
          return `<img ${node.href} ${node.alt}>`;
        case 'break':
          return '⏎';
      }
    })
    .join('');
}

const CASES: [what: string, text: string, expected: string][] = [
  ['a line end breaks the line', 'a\nb', 'p(a⏎b)'],
  ['strong, emphasis and both', '**a** *b* ***c*** __d__ _e_', 'p(<b a> <i b> <i <b c>> <b d> <i e>)'],
  ['emphasis inside emphasis', '**a *b* c** and *a **b***', 'p(<b a <i b> c> and <i a <b b>>)'],
  ['stars that are no emphasis', '2 * 3 * 4 and **open', 'p(2 * 3 * 4 and **open)'],
  ['underscores in a name', 'snake_case_name and __init__', 'p(snake_case_name and <b init>)'],
  ['emphasis beside Chinese', '这是**重点：**请看**“这里”**吧', 'p(这是<b 重点：>请看<b “这里”>吧)'],
  ['deleted text', '~~gone~~ but a~b and ~c~', 'p(<s gone> but a~b and ~c~)'],
  ['code', 'a `b **c**` and ``d ` e`` and `open', 'p(a `b **c**` and `d ` e` and `open)'],
  ['escapes and entities', '\\*a\\* &lt;b&gt; &#x4e2d; &unknown;', 'p(*a* <b> 中 &unknown;)'],
  [
    'a formula stays as it is',
    'so \\(a_1 * b_1 * c\\) and $$x_1$$',
    'p(so math{\\(a_1 * b_1 * c\\)} and math{$$x_1$$})',
  ],
  ['a price is no formula', 'from $5 to $10', 'p(from $5 to $10)'],
  ['a link', '[a *b*](https://x.org/y_(z) "t")', 'p(<a https://x.org/y_(z) a <i b>>)'],
  ['a link by name', '[a][X] and [x]\n\n[x]: https://x.org', 'p(<a https://x.org/ a> and <a https://x.org/ x>)'],
  ['brackets that are no link', '[a] and a[0] and [b](', 'p([a] and a[0] and [b]()'],
  [
    'no link inside a link',
    '[a [b](https://b.org) c](https://c.org)',
    'p([a <a https://b.org/ b> c](<a https://c.org/ https://c.org>))',
  ],
  [
    'a bare address ends before the sentence does',
    'see https://x.org/a_(b). And (https://y.org)!',
    'p(see <a https://x.org/a_(b) https://x.org/a_(b)>. And (<a https://y.org/ https://y.org>)!)',
  ],
  ['a bare address ends before Chinese', '见https://x.org/路径。', 'p(见<a https://x.org/ https://x.org/>路径。)'],
  [
    'an address in angle brackets',
    '<https://x.org> <mailto:a@b.org>',
    'p(<a https://x.org/ https://x.org> <a mailto:a@b.org a@b.org>)',
  ],
  ['an image is named, not shown', '![alt *x*](https://x.org/p.png)', 'p(<img https://x.org/p.png alt x>)'],
  ['tags are text, except the line break', 'a<br>b <b>c</b>', 'p(a⏎b <b>c</b>)'],
  ['headings', '# A\n### B ###\n#no', 'h1(A) h3(B) p(#no)'],
  ['a rule, also right behind text', 'a\n---\n***', 'p(a) rule rule'],
  ['code in fences', '```js\nlet a\n\n  b\n```\n~~~\n```\n~~~', 'code[js](let a\n\n  b) code[](```)'],
  ['code that is not finished', 'a\n```py\nx = 1', 'p(a) code…[py](x = 1)'],
  ['tabs in code are kept', '```make\n\tcc x\n```', 'code[make](\tcc x)'],
  ['a quote with a lazy line', '> a\nb\n>\n> - c', 'quote(p(a⏎b) ul(- p(c)))'],
  ['lists', '- a\n- b\n\n1. c\n2. d', 'ul(- p(a) - p(b)) ol1(- p(c) - p(d))'],
  ['a list that does not begin at one', '7. a\n8. b', 'ol7(- p(a) - p(b))'],
  ['a list with room between its items', '- a\n\n- b', 'ul~(- p(a) - p(b))'],
  ['a list in a list, indented as models do', '1. a\n  - b\n   - c\n2. d', 'ol1(- p(a) ul(- p(b) - p(c)) - p(d))'],
  ['a list in a list by tabs', '- a\n\t- b\n\t\t- c', 'ul(- p(a) ul(- p(b) ul(- p(c))))'],
  ['paragraphs and code in an item', '- a\n\n  b\n  ```\n  c\n  ```\n- d', 'ul~(- p(a) p(b) code[](c) - p(d))'],
  ['tasks', '- [ ] a\n- [x] b', 'ul(- [ ] p(a) - [x] p(b))'],
  ['a number in a sentence is no list', 'in\n1999. that was', 'p(in⏎1999. that was)'],
  ['another bullet begins another list', '- a\n* b', 'ul(- p(a)) ul(- p(b))'],
  ['a table', '| a | b |\n|:--|--:|\n| 1 | `x|y` |\n| 2 \\| 3 |', 'table<l,r>(a|b / 1|`x|y` / 2 | 3|)'],
  ['a table behind text and before text', 'x\na|b\n-|-\n1|2\n\ny', 'p(x) table<,>(a|b / 1|2) p(y)'],
  ['bars without dashes are text', 'a | b\nc | d', 'p(a | b⏎c | d)'],
];

test.each(CASES)('%s', (_, text, expected) => {
  expect(shape(text)).toBe(expected);
});

describe('a growing document', () => {
  const whole = CASES.map(([, text]) => text).join('\n\n');

  test('ends as if it had been read at once', () => {
    for (const size of [1, 2, 3, 7, 50]) {
      let document: Document | null = null;
      for (let end = size; end < whole.length; end += size) {
        document = parseMarkdown(whole.slice(0, end), { previous: document, growing: true });
      }
      expect(parseMarkdown(whole, { previous: document }).blocks, `by ${size}`).toEqual(parseMarkdown(whole).blocks);
    }
  });

  test('keeps its finished blocks as they are', () => {
    const before = parseMarkdown('a\n\nb\n\nc', { growing: true });
    const after = parseMarkdown('a\n\nb\n\nc d', { previous: before, growing: true });
    expect(after.blocks[0]).toBe(before.blocks[0]);
    expect(after.blocks[1]).toBe(before.blocks[1]);
    expect(after.blocks[2]).not.toBe(before.blocks[2]);
  });

  test('shows a table from its first row on, never its bars', () => {
    const text = '| name | n |\n|---|--:|\n| a | 1 |';
    for (let end = 2; end <= text.length; end += 1) {
      const [first] = parseMarkdown(text.slice(0, end), { growing: true }).blocks;
      expect(first?.block.type, text.slice(0, end)).toBe('table');
    }
  });
});

describe('a text made to be slow costs four times as much when it is four times as long', () => {
  const N = 5_000;
  const bombs: Record<string, (n: number) => string> = {
    'opening stars': (n) => '*a '.repeat(n),
    'stars of all kinds': (n) => '*a **b _c __d '.repeat(n / 4),
    'opening brackets': (n) => '['.repeat(n),
    'brackets and parentheses': (n) => '[a]('.repeat(n / 4),
    'addresses that never end': (n) => '[a](<'.repeat(n / 5),
    'ticks of every length': (n) => '` `` ``` ```` '.repeat(n / 14),
    'formulas that never end': (n) => '\\('.repeat(n / 2),
    'angle brackets': (n) => '<'.repeat(n),
    'quotes in quotes': (n) => '>'.repeat(n),
    'lists in lists': (n) => '- '.repeat(n / 2),
    'an address with many brackets': (n) => `https://x.org/${')'.repeat(n)}`,
    'blank lines': (n) => '\n'.repeat(n),
    'a wide table': (n) => `${'|a'.repeat(n / 2)}\n${'|-'.repeat(n / 2)}`,
    'names that are not defined': (n) => '[a][b]'.repeat(n / 6),
  };
  // The best of several tries, so that what else the machine does counts for little.
  const cost = (text: string) => {
    const tries = Array.from({ length: 5 }, () => {
      const before = performance.now();
      parseMarkdown(text);
      return performance.now() - before;
    });
    return Math.min(...tries);
  };
  // What is really the square of something is it every time; what the machine does beside is not.
  test.each(Object.entries(bombs))('%s', { retry: 5, timeout: 60_000 }, (_, bomb) => {
    cost(bomb(N)); // warm
    // Sixteen times would be its square. What takes next to no time is not compared.
    expect(cost(bomb(4 * N))).toBeLessThan(12 * Math.max(cost(bomb(N)), 5));
  });
});
