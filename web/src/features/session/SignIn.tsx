import { type FormEvent, type ReactNode, useState } from 'react';
import { ApiError } from '@/api/errors';
import { type SignInWays, signIn, signInWithPassword } from '@/api/session';
import { useI18n } from '@/lib/i18n/locale';
import { Button } from '@/ui/Button';
import { Notice } from '@/ui/Notice';
import styles from './SignIn.module.css';

interface Props {
  ways: SignInWays;
  onSignedIn: () => void;
}

/** The ways in that this server has: an identity provider, a password, a token. */
export function SignIn({ ways, onSignedIn }: Props) {
  const { t, translate } = useI18n();
  const [way, setWay] = useState<'password' | 'token'>(ways.password ? 'password' : 'token');
  const failure = takeFailure();
  const enter = () => {
    forgetFailure();
    onSignedIn();
  };
  const provider = ways.provider ?? null;
  return (
    <main className={styles.page}>
      <div className={styles.card}>
        <img className={styles.mark} src="/icon.svg" alt="" />
        <h1 className={styles.title}>{t.session.title}</h1>
        {failure !== null && <Notice tone="bad" title={translate({ code: failure }) ?? failure} />}
        {provider !== null && (
          <a className={styles.provider} href="/sign-in/start">
            {t.session.with(provider)}
          </a>
        )}
        {way === 'password' ? <PasswordForm onSignedIn={enter} /> : <TokenForm onSignedIn={enter} />}
        {ways.password && (
          <Button onClick={() => setWay(way === 'token' ? 'password' : 'token')}>
            {way === 'token' ? t.session.usePassword : t.session.useToken}
          </Button>
        )}
      </div>
    </main>
  );
}

/** Not asked yet, or the code of what failed, if something did. The form may be mounted again before it is read. */
let known: string | null | undefined;

/** Why the way by the identity provider failed; taken out of the address, so that a reload does not say it again. */
function takeFailure(): string | null {
  if (known !== undefined) return known;
  const address = new URL(window.location.href);
  known = address.searchParams.get('sign_in');
  if (known !== null) {
    address.searchParams.delete('sign_in');
    window.history.replaceState(window.history.state, '', address);
  }
  return known;
}

function forgetFailure(): void {
  known = null;
}

function useSubmit(enter: () => Promise<void>, onSignedIn: () => void) {
  const [isBusy, setBusy] = useState(false);
  const [error, setError] = useState<Error | null>(null);
  const submit = (event: FormEvent) => {
    event.preventDefault();
    setBusy(true);
    enter()
      .then(onSignedIn, setError)
      .finally(() => setBusy(false));
  };
  const isWrong = error instanceof ApiError && (error.status === 401 || error.status === 403);
  return { isBusy, error, isWrong, submit };
}

function PasswordForm({ onSignedIn }: { onSignedIn: () => void }): ReactNode {
  const { t } = useI18n();
  const [user, setUser] = useState('');
  const [password, setPassword] = useState('');
  const { isBusy, error, submit } = useSubmit(() => signInWithPassword(user.trim(), password), onSignedIn);
  const isWrong = error instanceof ApiError && error.status === 401;
  return (
    <form className={styles.form} onSubmit={submit}>
      <label className={styles.field}>
        {t.session.user}
        <input
          className={styles.input}
          value={user}
          autoComplete="username"
          required
          onChange={(event) => setUser(event.target.value)}
        />
      </label>
      <label className={styles.field}>
        {t.session.password}
        <input
          className={styles.input}
          type="password"
          value={password}
          autoComplete="current-password"
          required
          aria-invalid={isWrong}
          onChange={(event) => setPassword(event.target.value)}
        />
      </label>
      {error && <Notice tone="bad" title={isWrong ? t.session.wrongPassword : error.message} />}
      <Button type="submit" look="primary" disabled={isBusy || user.trim() === '' || password === ''}>
        {t.session.submit}
      </Button>
    </form>
  );
}

function TokenForm({ onSignedIn }: { onSignedIn: () => void }): ReactNode {
  const { t } = useI18n();
  const [token, setToken] = useState('');
  const [isShown, setShown] = useState(false);
  const { isBusy, error, isWrong, submit } = useSubmit(() => signIn(token.trim()), onSignedIn);
  return (
    <form className={styles.form} onSubmit={submit}>
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
  );
}
