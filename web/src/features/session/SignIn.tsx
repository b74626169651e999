import { type FormEvent, useState } from 'react';
import { ApiError } from '@/api/errors';
import { signIn } from '@/api/session';
import { useI18n } from '@/lib/i18n/locale';
import { Button } from '@/ui/Button';
import { Notice } from '@/ui/Notice';
import styles from './SignIn.module.css';

/** Trades a token for a cookie. */
export function SignIn({ onSignedIn }: { onSignedIn: () => void }) {
  const { t } = useI18n();
  const [token, setToken] = useState('');
  const [isShown, setShown] = useState(false);
  const [isBusy, setBusy] = useState(false);
  const [error, setError] = useState<Error | null>(null);
  const submit = (event: FormEvent) => {
    event.preventDefault();
    setBusy(true);
    signIn(token.trim())
      .then(onSignedIn, setError)
      .finally(() => setBusy(false));
  };
  const isWrong = error instanceof ApiError && (error.status === 401 || error.status === 403);
  return (
    <main className={styles.page}>
      <form className={styles.card} onSubmit={submit}>
        <img className={styles.mark} src="/icon.svg" alt="" />
        <h1 className={styles.title}>{t.session.title}</h1>
        <p className={styles.explanation}>
          {t.session.explanation} <code>helve token create</code>
        </p>
        <label className={styles.field}>
          {t.session.token}
          <input
            className={styles.input}
            type={isShown ? 'text' : 'password'}
            value={token}
            autoComplete="current-password"
            // oxlint-disable-next-line jsx-a11y/no-autofocus -- the only thing to do here
            autoFocus
            required
            aria-invalid={isWrong}
            onChange={(event) => setToken(event.target.value)}
          />
        </label>
        <label className={styles.show}>
          <input type="checkbox" checked={isShown} onChange={(event) => setShown(event.target.checked)} />
          {t.session.show}
        </label>
        {error && <Notice tone="bad" title={isWrong ? t.session.wrong : error.message} />}
        <Button type="submit" look="primary" disabled={isBusy || token.trim() === ''}>
          {t.session.submit}
        </Button>
      </form>
    </main>
  );
}
