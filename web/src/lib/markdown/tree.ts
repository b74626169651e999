// What markdown means, as plain data. There is no node for HTML: what looks like a tag is text.

export type Inline =
  | { type: 'text'; text: string }
  | { type: 'code'; text: string }
  /** TeX, shown as it was written. */
  | { type: 'math'; text: string }
  | { type: 'strong' | 'emphasis' | 'deleted'; children: Inline[] }
  | { type: 'link'; href: string; children: Inline[] }
  /** Never loaded, only named. */
  | { type: 'image'; href: string | null; alt: string }
  | { type: 'break' };

export type Align = 'left' | 'center' | 'right' | null;

export type Block =
  | { type: 'paragraph'; children: Inline[] }
  | { type: 'heading'; level: number; children: Inline[] }
  | { type: 'code'; language: string; text: string; closed: boolean }
  | { type: 'quote'; blocks: Block[] }
  | { type: 'list'; start: number | null; tight: boolean; items: ListItem[] }
  | { type: 'table'; align: Align[]; head: Inline[][]; rows: Inline[][][] }
  | { type: 'rule' };

export interface ListItem {
  /** For a task: whether it is done. */
  done: boolean | null;
  blocks: Block[];
}

/** Addresses that links refer to by name. */
export type Definitions = ReadonlyMap<string, string>;
