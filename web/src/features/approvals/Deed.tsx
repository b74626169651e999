import { useI18n } from '@/lib/i18n/locale';
import { type Member, membersOf } from '@/lib/json-members';
import { own } from '@/lib/own';
import { Clip } from '@/ui/Clip';
import { Code, VisibleText } from '@/ui/Code';
import styles from './Deed.module.css';
import { type ToolWords, fieldWord } from './tool-words';

/** Arguments that are code: their characters stand in columns. */
const CODE = /^(?:code|sql|script|command|query|expression|body_json)$/;

/** What would happen, in the tool's own words, with its arguments as a form. */
export function Deed({ words, input }: { words: ToolWords; input: string }) {
  const { t, locale } = useI18n();
  const members = membersOf(input);
  return (
    <>
      {words.deed !== null && (
        <p className={styles.deed} data-written-by={words.isTranslated ? undefined : 'tool'}>
          <VisibleText text={words.deed} />
        </p>
      )}
      {members?.length === 0 && <p className={styles.none}>{t.approvals.noArguments}</p>}
      {members !== null && members.length > 0 && (
        <dl className={styles.fields}>
          {members.map((member) => (
            <div key={member.name} className={styles.field}>
              <dt data-written-by={fieldWord(member.name, locale) === undefined ? 'tool' : undefined}>
                <VisibleText text={words.label(member.name)} />
              </dt>
              <dd data-written-by="model">
                <Clip>
                  <Value {...member} />
                </Clip>
              </dd>
            </div>
          ))}
        </dl>
      )}
      {members === null && (
        <Clip>
          <pre className={styles.code} data-written-by="model">
            <VisibleText text={input} />
          </pre>
        </Clip>
      )}
    </>
  );
}

function Value({ name, text, kind }: Member) {
  const { t } = useI18n();
  if (kind === 'json') {
    return (
      <pre className={styles.code}>
        <Code text={text} language="json" exact />
      </pre>
    );
  }
  if (text === '') return <span className={styles.none}>{t.approvals.empty}</span>;
  if (kind === 'plain') return <span className={styles.value}>{own(t.approvals.plain, text) ?? text}</span>;
  return (
    <span className={CODE.test(name) ? `${styles.value} ${styles.mono}` : styles.value}>
      <VisibleText text={text} />
    </span>
  );
}
