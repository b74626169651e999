import { type ReactNode, memo } from 'react';
import { useI18n } from '@/lib/i18n/locale';
import { type Surroundings, visiblePieces } from '@/lib/visible-text';
import styles from './Code.module.css';
import { useHighlighter } from './use-highlighter';

interface CodeProps {
  text: string;
  language: string;
  /** Whether a person decides by it, so that every character that does not show itself is named. */
  exact?: boolean;
}

/** Code with a little colour. */
export const Code = memo(function Code({ text, language, exact = false }: CodeProps) {
  const tokens = useHighlighter()(text, language);
  const inside = exact ? 'code' : 'prose';
  return (
    // Letters that are written from right to left do not change places with what stands outside of their string.
    <code className={exact ? styles.exact : undefined} dir="ltr">
      {tokens.map((token, index) => (
        <span key={index} className={styles[token.kind]}>
          <Pieces text={token.text} inside={inside} />
        </span>
      ))}
    </code>
  );
});

/** Text in which nothing is hidden: what has no shape of its own is named. */
export const VisibleText = memo(function VisibleText({ text }: { text: string }) {
  return (
    <bdi>
      <Pieces text={text} inside="call" />
    </bdi>
  );
});

/** What shows itself as it is, and what does not by its name. */
export function Pieces({ text, inside }: { text: string; inside: Surroundings }): ReactNode {
  const { t } = useI18n();
  return visiblePieces(text, inside).map((piece, index) =>
    piece.hidden ? (
      <span key={index} className={styles.hidden} title={t.code.hiddenCharacter}>
        {piece.text}
      </span>
    ) : (
      piece.text
    ),
  );
}
