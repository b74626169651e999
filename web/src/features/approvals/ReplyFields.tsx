import { type ReactNode, useId } from 'react';
import type { FieldProblem } from '@/api/errors';
import type { FormField, FormOption, ReplyForm } from '@/api/generated/events';
import { useI18n } from '@/lib/i18n/locale';
import { labelOf } from '@/lib/json-members';
import { VisibleText } from '@/ui/Code';
import { type Draft, placeOf } from './reply';
import styles from './ReplyFields.module.css';

interface Shared {
  draft: Draft;
  problems: ReadonlyMap<string, FieldProblem>;
  onChange: (place: string, value: string | readonly string[]) => void;
}

/** What a reply is like: one field without a name, or those of a form. */
export function ReplyFields({ form, ...shared }: Shared & { form: ReplyForm }) {
  const { t } = useI18n();
  if (form.type === 'fields') return <Fields fields={form.fields} path="" {...shared} />;
  return <Field form={form} place="" label={t.approvals.question.answer} isRequired {...shared} />;
}

function Fields({ fields, path, ...shared }: Shared & { fields: readonly FormField[]; path: string }) {
  return (
    <>
      {fields.map(({ name, title, description, required, form }) => {
        const place = placeOf(path, name);
        const label = title ?? labelOf(name);
        if (form.type !== 'fields') {
          const props = { form, place, label, description: description ?? null, isRequired: required ?? false };
          return <Field key={place} {...props} {...shared} />;
        }
        return (
          <fieldset key={place} className={styles.group}>
            <legend className={styles.label}>
              <Label label={label} isOurs={false} isRequired={required ?? false} />
            </legend>
            {description && <Hint text={description} />}
            <Problem problem={shared.problems.get(place)} />
            <Fields fields={form.fields} path={place} {...shared} />
          </fieldset>
        );
      })}
    </>
  );
}

interface FieldProps extends Shared {
  form: ReplyForm;
  place: string;
  label: string;
  description?: string | null;
  isRequired: boolean;
}

function Field({ form, place, label, description = null, isRequired, draft, problems, onChange }: FieldProps) {
  const { t } = useI18n();
  const id = useId();
  const problem = problems.get(place);
  const given = draft[place];
  const typed = typeof given === 'string' ? given : '';
  const about = { 'aria-invalid': problem !== undefined, 'aria-describedby': `${id}-about` };
  const below = (
    <div id={`${id}-about`}>
      {description && <Hint text={description} />}
      <Problem problem={problem} />
    </div>
  );
  const options = optionsOf(form, isRequired, t.approvals.question);
  if (options !== null) {
    const isSeveral = form.type === 'choices';
    const chosen = isSeveral ? (typeof given === 'string' ? [given] : (given ?? [])) : [typed];
    const choose = (value: string) => {
      if (!isSeveral) return onChange(place, value);
      const others = chosen.filter((one) => one !== value);
      // In the order in which they are offered.
      const all = others.length < chosen.length ? others : [...chosen, value];
      onChange(
        place,
        options.map((option) => option.value).filter((one) => all.includes(one)),
      );
    };
    return (
      <fieldset className={styles.field} {...about}>
        <legend className={styles.label}>
          <Label label={label} isOurs={place === ''} isRequired={isRequired} />
        </legend>
        <div className={styles.options}>
          {options.map((option) => (
            <label key={option.value} className={styles.option}>
              <input
                type={isSeveral ? 'checkbox' : 'radio'}
                name={id}
                checked={chosen.includes(option.value)}
                onChange={() => choose(option.value)}
              />
              <span data-written-by={isWordOfPage(form, option) ? undefined : 'model'}>
                <VisibleText text={option.title ?? option.value} />
              </span>
            </label>
          ))}
        </div>
        {below}
      </fieldset>
    );
  }
  const isLong = form.type === 'text' && form.multiline;
  return (
    <div className={styles.field}>
      <label className={styles.label} htmlFor={id}>
        <Label label={label} isOurs={place === ''} isRequired={isRequired} />
      </label>
      {isLong ? (
        <textarea
          id={id}
          className={styles.area}
          value={typed}
          onChange={(event) => onChange(place, event.target.value)}
          {...about}
        />
      ) : (
        <input
          id={id}
          className={styles.input}
          type={inputType(form)}
          step={form.type === 'number' && !form.whole ? 'any' : undefined}
          value={typed}
          onChange={(event) => onChange(place, event.target.value)}
          {...about}
        />
      )}
      {below}
    </div>
  );
}

/** Whether the page says it, and not the model. */
function isWordOfPage(form: ReplyForm, { value }: FormOption): boolean {
  return form.type === 'boolean' || value === '';
}

/** Choices that need not be made can be taken back. */
function optionsOf(
  form: ReplyForm,
  isRequired: boolean,
  words: { yes: string; no: string; nothing: string },
): FormOption[] | null {
  const none = isRequired ? [] : [{ value: '', title: words.nothing }];
  switch (form.type) {
    case 'choices':
      return form.options;
    case 'choice':
      return [...form.options, ...none];
    case 'boolean':
      return [{ value: 'true', title: words.yes }, { value: 'false', title: words.no }, ...none];
    default:
      return null;
  }
}

const INPUT_TYPES = { email: 'email', uri: 'url', date: 'date', time: 'time', 'date-time': 'datetime-local' } as const;

function inputType(form: ReplyForm): string {
  if (form.type === 'number') return 'number';
  return form.type === 'text' && form.format ? INPUT_TYPES[form.format] : 'text';
}

function Label({ label, isOurs, isRequired }: { label: string; isOurs: boolean; isRequired: boolean }): ReactNode {
  const { t } = useI18n();
  return (
    <>
      <span data-written-by={isOurs ? undefined : 'model'}>
        <VisibleText text={label} />
      </span>
      {!isRequired && <span className={styles.optional}> {t.approvals.question.optional}</span>}
    </>
  );
}

function Hint({ text }: { text: string }) {
  return (
    <p className={styles.hint} data-written-by="model">
      <VisibleText text={text} />
    </p>
  );
}

function Problem({ problem }: { problem: FieldProblem | undefined }): ReactNode {
  const { t, translate } = useI18n();
  if (problem === undefined) return null;
  return (
    <p className={styles.wrong} role="alert">
      <VisibleText text={translate(problem.notice) ?? t.app.wentWrong} />
    </p>
  );
}
