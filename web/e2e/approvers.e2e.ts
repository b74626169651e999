// A call that two of three people must agree about: each in a browser of their own.

import type { Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { answer, ask, finished, openPage, press, shows } from './browser';
import { type TestServer, startServer } from './server';

const CONFIG = `
[[permissions]]
tool = "save_note"
action = "ask"

[permissions.approvers]
users = ["mei", "li", "wang"]
approvals = 2
`;

describe('a call that several people must agree about', () => {
  let office: TestServer;
  beforeAll(async () => {
    office = await startServer({ config: CONFIG, users: ['mei', 'li', 'wang'] });
  });
  afterAll(() => office.close());

  const signIn = async (token: string | undefined): Promise<Page> => {
    const page = await openPage('/', { at: office.url });
    await page.getByRole('textbox', { name: 'Access token' }).fill(token ?? '');
    await page.getByRole('button', { name: 'Sign in' }).click();
    await page.getByRole('textbox', { name: 'Message' }).waitFor();
    return page;
  };

  test('runs when two others have agreed, and who asked cannot decide', async () => {
    const [mei, li, wang] = await Promise.all(office.tokens.map(signIn));
    if (!mei || !li || !wang) throw new Error('three people are needed');
    await ask(mei, 'remember that the meeting is at nine');
    await shows(mei.getByText('2 of these people must agree: mei, li, wang'));
    await shows(mei.getByText('You asked for this, so another approver must decide.'));
    expect(await mei.getByRole('button', { name: 'Allow', exact: true }).count()).toBe(0);

    await agree(li);
    await shows(li.getByText('You have agreed. Others must agree, too.'));
    await shows(mei.getByText('Agreed so far: li'));
    await agree(wang);
    await finished(mei);
    await shows(mei.getByText(/^Allowed by/));
    await shows(answer(mei).getByText(/Done\./));
  });
});

/** Finds the question in the list at the top and allows it. */
async function agree(page: Page): Promise<void> {
  await page.reload();
  await page
    .getByRole('button', { name: /approvals? (is|are) waiting/ })
    .first()
    .click();
  const dialog = page.getByRole('dialog');
  await shows(dialog.getByText('Asked for by mei'));
  expect(await dialog.getByRole('button', { name: /always/i }).count()).toBe(0);
  await press(dialog.getByRole('button', { name: 'Allow', exact: true }));
}
