// Markdown as elements. Text becomes a tree of plain data (lib/markdown) and the tree becomes elements; no HTML is
// ever made from text, and nothing is loaded from anywhere.

import { Fragment, type ReactNode, memo, useState } from 'react';
import { useI18n } from '@/lib/i18n/locale';
import { growingReader } from '@/lib/markdown/document';
import type { Align, Block, Inline, ListItem } from '@/lib/markdown/tree';
import { destination, namesDestination } from '@/lib/markdown/urls';
import { Code, Pieces } from './Code';
import { CopyButton } from './CopyButton';
import { Icon } from './Icon';
import styles from './Markdown.module.css';

interface Props {
  text: string;
  /** Whether more may come. */
  growing?: boolean;
}

export const Markdown = memo(function Markdown({ text, growing = false }: Props) {
  const [read] = useState(growingReader);
  const document = read(text, growing);
  return (
    <div
      className={growing ? `${styles.markdown} ${styles.growing}` : styles.markdown}
      lang={/\p{Script=Han}/u.test(text) ? 'zh' : undefined}
      data-written-by="model"
    >
      {document.blocks.map(({ start, block }) => (
        <BlockView key={start} block={block} />
      ))}
    </div>
  );
});

/** Blocks that did not change are the same objects, and are not drawn again. */
const BlockView = memo(function BlockView({ block }: { block: Block }): ReactNode {
  switch (block.type) {
    case 'paragraph':
      return <p>{inline(block.children)}</p>;
    case 'heading': {
      // The page has the first level for itself.
      const Heading = `h${Math.min(6, block.level + 1)}` as 'h2';
      return <Heading>{inline(block.children)}</Heading>;
    }
    case 'code':
      return <CodeBlock text={block.text} language={block.language} />;
    case 'quote':
      return <blockquote>{blocks(block.blocks)}</blockquote>;
    case 'list':
      return <ListView {...block} />;
    case 'table':
      return <TableView {...block} />;
    case 'rule':
      return <hr />;
  }
});

function blocks(list: Block[]): ReactNode {
  return list.map((block, index) => <BlockView key={index} block={block} />);
}

function CodeBlock({ text, language }: { text: string; language: string }) {
  const { t } = useI18n();
  return (
    <div className={styles.codeBlock}>
      <div className={styles.codeHead}>
        <span>{language}</span>
        <CopyButton text={text} label={t.markdown.copyCode} />
      </div>
      {/* oxlint-disable-next-line jsx-a11y/no-noninteractive-tabindex -- it scrolls */}
      <pre className={styles.codeBody} tabIndex={0} translate="no">
        <Code text={text} language={language} />
      </pre>
    </div>
  );
}

function ListView({ start, tight, items }: Extract<Block, { type: 'list' }>) {
  const children = items.map((item, index) => <ItemView key={index} item={item} tight={tight} />);
  const className = tight ? undefined : styles.loose;
  if (start === null) return <ul className={className}>{children}</ul>;
  return (
    <ol className={className} start={start}>
      {children}
    </ol>
  );
}

function ItemView({ item, tight }: { item: ListItem; tight: boolean }) {
  const { t } = useI18n();
  const content = item.blocks.map((block, index) =>
    tight && block.type === 'paragraph' ? (
      <Fragment key={index}>{inline(block.children)}</Fragment>
    ) : (
      <BlockView key={index} block={block} />
    ),
  );
  if (item.done === null) return <li>{content}</li>;
  return (
    <li className={styles.task}>
      <input
        type="checkbox"
        checked={item.done}
        disabled
        readOnly
        aria-label={item.done ? t.markdown.task.done : t.markdown.task.open}
      />
      {content}
    </li>
  );
}

function TableView({ align, head, rows }: Extract<Block, { type: 'table' }>) {
  return (
    // oxlint-disable-next-line jsx-a11y/no-noninteractive-tabindex -- it scrolls
    <div className={styles.tableFrame} tabIndex={0}>
      <table className={styles.table}>
        <thead>
          <tr>
            {head.map((cell, column) => (
              <th key={column} scope="col" className={alignClass(align[column])}>
                {inline(cell)}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((row, index) => (
            <tr key={index}>
              {row.map((cell, column) => (
                <td key={column} className={alignClass(align[column])}>
                  {inline(cell)}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function alignClass(align: Align | undefined): string | undefined {
  return align === 'center' || align === 'right' ? styles[align] : undefined;
}

function inline(nodes: Inline[]): ReactNode {
  return nodes.map((node, index) => <InlineView key={index} node={node} />);
}

function InlineView({ node }: { node: Inline }): ReactNode {
  switch (node.type) {
    case 'text':
      return node.text;
    case 'code':
      return (
        <code className={styles.inlineCode} translate="no">
          <Pieces text={node.text} inside="prose" />
        </code>
      );
    case 'math':
      return (
        <code className={styles.math} translate="no">
          {node.text}
        </code>
      );
    case 'strong':
      return <strong>{inline(node.children)}</strong>;
    case 'emphasis':
      return <Emphasis words={node.children} />;
    case 'deleted':
      return <del>{inline(node.children)}</del>;
    case 'link':
      return <Link {...node} />;
    case 'image':
      return <ImageChip href={node.href} alt={node.alt} />;
    case 'break':
      return <br />;
  }
}

/** Slanted Chinese is a malformation, so it has dots instead; words of other scripts beside it are slanted. */
function Emphasis({ words }: { words: Inline[] }) {
  const text = wordsOf(words);
  const isChinese = /\p{Script=Han}/u.test(text) && !/\p{Script=Latin}/u.test(text);
  return <em className={isChinese ? styles.dotted : undefined}>{inline(words)}</em>;
}

/** The words are the model's, so they could name another place than the one where the link leads. */
function Link({ href, children }: Extract<Inline, { type: 'link' }>) {
  const { t } = useI18n();
  const host = destination(href);
  return (
    <a
      className={styles.link}
      href={href}
      target="_blank"
      rel="noreferrer noopener"
      title={`${t.markdown.linkHint(host)}\n${href}`}
    >
      <bdi>{inline(children)}</bdi>
      {!namesDestination(wordsOf(children), href) && <bdi className={styles.host}>{host}</bdi>}
    </a>
  );
}

function wordsOf(nodes: Inline[]): string {
  return nodes
    .map((node) => {
      if ('children' in node) return wordsOf(node.children);
      return 'text' in node ? node.text : '';
    })
    .join('');
}

/** An image would tell its server that, when and what the user reads; so it is only named. */
function ImageChip({ href, alt }: { href: string | null; alt: string }) {
  const { t } = useI18n();
  const words = (
    <>
      <Icon name="image" size={14} />
      {alt || t.markdown.image}
    </>
  );
  if (href === null) {
    return (
      <span className={styles.image} title={t.markdown.imageBlocked}>
        {words}
      </span>
    );
  }
  const host = destination(href);
  return (
    <a
      className={styles.image}
      href={href}
      target="_blank"
      rel="noreferrer noopener"
      title={t.markdown.imageHint(host)}
    >
      {words}
      <span className={styles.host}>{host}</span>
    </a>
  );
}
