import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { answer, ask, finished, openPage, shows } from './browser';
import { type TestServer, startServer } from './server';

describe('a server with a token', () => {
  let guarded: TestServer;
  beforeAll(async () => {
    guarded = await startServer({ token: 'open-sesame-and-close' });
  });
  afterAll(() => guarded.close());

  test('lets in who knows it, and nobody else', async () => {
    const page = await openPage('/', { at: guarded.url });
    await shows(page.getByRole('heading', { name: 'Sign in to Helve' }));
    await page.getByRole('textbox', { name: 'Access token' }).fill('wrong');
    await page.getByRole('button', { name: 'Sign in' }).click();
    await shows(page.getByText('This token is not accepted.'));
    await page.getByRole('textbox', { name: 'Access token' }).fill('open-sesame-and-close');
    await page.getByRole('button', { name: 'Sign in' }).click();
    await ask(page, 'what is 12.5% of 3,480?');
    await finished(page);
    await shows(answer(page).getByText('435', { exact: true }));
    await page.reload();
    await shows(answer(page).getByText('435', { exact: true }));
    await page.getByRole('button', { name: 'Settings' }).click();
    await page.getByRole('menuitem', { name: 'Sign out' }).click();
    await shows(page.getByRole('heading', { name: 'Sign in to Helve' }));
    expect(await page.evaluate(() => document.cookie)).toBe('');
  });
});
