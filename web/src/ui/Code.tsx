import { memo } from 'react';
import { codeTokens } from '@/lib/code-tokens';
import { useSpeech } from '@/lib/i18n/locale';
import { visiblePieces } from '@/lib/visible-text';
import styles from './Code.module.css';

/** Code with a little colour. */
export const Code = memo(function Code({ text, language }: { text: string; language: string }) {
  const tokens = codeTokens(text, language);
  return (
    <code>
      {tokens.map((token, index) =>
        token.kind === 'plain' ? (
          token.text
        ) : (
          <span key={index} className={styles[token.kind]}>
            {token.text}
          </span>
        ),
      )}
    </code>
  );
});

/** Text in which nothing is hidden: what has no shape of its own is named. */
export const VisibleText = memo(function VisibleText({ text }: { text: string }) {
  const { t } = useSpeech();
  return (
    <span>
      {visiblePieces(text).map((piece, index) =>
        piece.hidden ? (
          <span key={index} className={styles.hidden} title={t.code.hiddenCharacter}>
            {piece.text}
          </span>
        ) : (
          piece.text
        ),
      )}
    </span>
  );
});
