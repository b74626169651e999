// Sign-in at a real OpenID provider, in a real browser: groups, loss of a group in mid-run, expired and signed-out sessions.

import { type Server, createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Provider as OpenIdProvider } from 'oidc-provider';
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { ask, finished, openPage, press, shows } from './browser';
import { type TestServer, startServer } from './server';

const ADMIN = 'an-administrators-token';

/** The groups that the provider tells of each person. */
const groups: Record<string, string[]> = { mei: ['/staff/sales'], li: [] };

let helve: TestServer;
let http: Server;
let provider: OpenIdProvider;

beforeAll(async () => {
  http = createServer((request, response) => void provider.callback()(request, response));
  await new Promise<void>((resolve) => http.listen(0, '127.0.0.1', resolve));
  const issuer = `http://127.0.0.1:${(http.address() as AddressInfo).port}`;
  helve = await startServer({
    token: ADMIN,
    config: `
      [auth.oidc]
      issuer = "${issuer}"
      client_id = "helve"
      client_secret = "a-secret-of-the-client"
      name = "Example"
      [[agents]]
      name = "default"
      groups = ["sales"]
    `,
  });
  provider = new OpenIdProvider(issuer, {
    clients: [
      {
        client_id: 'helve',
        client_secret: 'a-secret-of-the-client',
        redirect_uris: [`${helve.url}/sign-in/callback`],
        post_logout_redirect_uris: [`${helve.url}/sign-in/done`],
        backchannel_logout_uri: `${helve.url}/sign-in/back-channel`,
        backchannel_logout_session_required: true,
      },
    ],
    claims: { openid: ['sub'], profile: ['name', 'preferred_username', 'groups'], email: ['email'] },
    findAccount: (_, id) => ({
      accountId: id,
      claims: () => ({ sub: id, name: `${id} Example`, preferred_username: id, groups: groups[id] ?? [] }),
    }),
    features: { backchannelLogout: { enabled: true } },
    cookies: { keys: ['a-key-for-cookies-of-a-test'] },
  });
  await call('POST', '/api/groups', { name: 'sales', claims: ['/staff/sales'] });
});

afterAll(async () => {
  await helve.close();
  http.closeAllConnections();
  http.close();
});

async function call(method: string, path: string, body?: unknown): Promise<Response> {
  const answer = await fetch(helve.url + path, {
    method,
    headers: { authorization: `Bearer ${ADMIN}`, 'content-type': 'application/json' },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  });
  expect(answer.ok, `${method} ${path}: ${answer.status}`).toBe(true);
  return answer;
}

/** Goes to the provider, says who one is, and comes back. */
async function signIn(page: Page, name: string): Promise<void> {
  await page.getByRole('link', { name: 'Sign in with Example' }).click();
  await page.locator('input[name=login]').fill(name);
  await page.locator('input[name=password]').fill('any');
  await page.getByRole('button', { name: 'Sign-in' }).click();
  await page.getByRole('button', { name: 'Continue' }).click();
}

/** What the server knows of who is at the page. */
function session(page: Page): Promise<{ signed_in: boolean; user?: string; groups?: string[] }> {
  return page.evaluate(async () => (await fetch('/api/session', { headers: { 'X-Helve-Page': '1' } })).json());
}

test('somebody signs in, uses what the groups give, loses it in mid-run, and signs out', async () => {
  const page = await openPage('/', { at: helve.url });
  await signIn(page, 'mei');
  await shows(page.getByRole('textbox', { name: 'Message' }));
  expect(await session(page)).toMatchObject({ signed_in: true, user: 'mei', groups: ['sales'] });

  await ask(page, 'remember that the meeting is at nine');
  const question = page.getByRole('group', { name: 'Allow “Save a note”?' });
  await shows(question);
  await call('PATCH', '/api/groups/sales', { claims: [] });
  await press(page.getByRole('button', { name: 'Allow', exact: true }));
  await finished(page);
  await shows(page.getByText('You may not use this agent any more.'));
  await call('PATCH', '/api/groups/sales', { claims: ['/staff/sales'] });

  await page.getByRole('button', { name: 'Settings' }).click();
  await shows(page.getByText('Signed in as mei Example'));
  await page.getByRole('menuitem', { name: 'Sign out' }).click();
  await page.getByRole('button', { name: 'Yes, sign me out' }).click();
  await shows(page.getByRole('heading', { name: 'Sign in to Helve' }));
  expect(await session(page)).toMatchObject({ signed_in: false });
});

test('who is in no group has no agent, and a disabled user is told so', async () => {
  const page = await openPage('/', { at: helve.url });
  await signIn(page, 'li');
  await shows(page.getByRole('textbox', { name: 'Message' }));
  expect(await session(page)).toMatchObject({ signed_in: true, user: 'li', groups: [] });
  const agents = await page.evaluate(async () =>
    (await fetch('/api/agents', { headers: { 'X-Helve-Page': '1' } })).json(),
  );
  expect(agents.agents).toEqual([]);
  await call('PATCH', '/api/users/li', { disabled: true });
  await page.reload();
  await shows(page.getByRole('heading', { name: 'Sign in to Helve' }));
  await page.getByRole('link', { name: 'Sign in with Example' }).click();
  await shows(page.getByText('This user was disabled. An administrator can enable it again.'));
});

test('an answer of the provider counts in no other browser', async () => {
  const page = await openPage('/sign-in/callback?code=stolen&state=guessed', { at: helve.url });
  await shows(page.getByText('This sign-in was not begun in this browser, or took too long. Try again.'));
});
