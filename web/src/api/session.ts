import { request } from './client';

export interface SignInWays {
  token: boolean;
  password: boolean;
  /** What the identity provider is called, if there is one. */
  provider?: string | null;
}

export interface Session {
  /** Whether a token is needed at all. */
  needed: boolean;
  signed_in: boolean;
  user?: string | null;
  admin?: boolean | null;
  /** What people read in place of the user's id. */
  name?: string | null;
  groups?: string[] | null;
  ways: SignInWays;
}

export function getSession(): Promise<Session> {
  return request('GET', '/api/session');
}

export function signIn(token: string): Promise<void> {
  return request('POST', '/api/session', { body: { token } });
}

export function signInWithPassword(user: string, password: string): Promise<void> {
  return request('POST', '/api/session', { body: { user, password } });
}

/** Where the browser goes on, if it has to sign out at the identity provider too. */
export async function signOut(): Promise<string | null> {
  const answer = await request<{ continue_at: string } | undefined>('DELETE', '/api/session');
  return answer?.continue_at ?? null;
}
