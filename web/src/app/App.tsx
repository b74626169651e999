import type { ReactNode } from 'react';
import { useSession } from '@/features/session/use-session';
import { useI18n } from '@/lib/i18n/locale';
import { Button } from '@/ui/Button';
import { Notice } from '@/ui/Notice';
import { lazyPart } from '@/ui/lazy-part';
import { Spinner } from '@/ui/Spinner';
import styles from './App.module.css';
import { Page } from './Page';

const SignIn = lazyPart(async () => (await import('@/features/session/SignIn')).SignIn);

/** Lets in who may come in, and says why not otherwise. */
export function App(): ReactNode {
  const { t } = useI18n();
  const { state, refresh, leave } = useSession();
  switch (state.status) {
    case 'unknown':
      return (
        <main className={styles.middle}>
          <Spinner />
        </main>
      );
    case 'unreachable':
      return (
        <main className={styles.middle}>
          <Notice
            tone="warn"
            icon="offline"
            title={t.app.unreachable}
            detail={t.app.unreachableHint}
            actions={<Button onClick={refresh}>{t.app.retry}</Button>}
          />
        </main>
      );
    case 'signed-out':
      return <SignIn ways={state.ways} onSignedIn={refresh} />;
    case 'ready':
      return <Page session={state.session} onSignOut={leave} />;
  }
}
