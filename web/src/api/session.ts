import { request } from './client';

export interface Session {
  /** Whether a token is needed at all. */
  needed: boolean;
  signed_in: boolean;
  user?: string | null;
  admin?: boolean | null;
}

export function getSession(): Promise<Session> {
  return request('GET', '/api/session');
}

export function signIn(token: string): Promise<void> {
  return request('POST', '/api/session', { body: { token } });
}

export function signOut(): Promise<void> {
  return request('DELETE', '/api/session');
}
