// The page's policy: no screen of ours needs what it forbids, and what it forbids does not work.

import type { Page } from 'playwright-core';
import { describe, expect, onTestFinished, test } from 'vitest';
import { answer, ask, card, complaints, finished, openPage, shows } from './browser';
import { startServer } from './server';

const PHONE = { viewport: { width: 390, height: 844 }, isMobile: true, hasTouch: true };

// Every journey fails on a violation (see browser.ts); this one goes where no other does.
describe.each([
  ['a laptop', {}],
  ['a phone', PHONE],
])('on %s', (_, device) => {
  test('no screen violates the policy', async () => {
    const page = await openPage('/', device);
    await openMenus(page);
    await ask(page, 'what time is it in Tokyo and in Paris, and what is 2^64?');
    await finished(page);
    await card(page, /time: Done/i)
      .first()
      .getByRole('button')
      .first()
      .click();
    await shows(page.getByText('What each stage decided'));
    await page.getByRole('button', { name: /Thought/ }).click();
    await ask(page, 'run `6 * 7` in my browser');
    await page.getByRole('button', { name: 'Run', exact: true }).click();
    await finished(page);
    await ask(page, 'remember that the meeting is at nine');
    for (const form of ['Edit & allow…', 'Always allow…', 'Reject…', 'Answer myself…']) {
      await page.getByRole('button', { name: form }).click();
      await page.getByRole('button', { name: 'Cancel' }).click();
    }
    await page.getByRole('button', { name: /approvals? (is|are) waiting/ }).click();
    await shows(page.getByRole('dialog', { name: 'Waiting for you' }));
    await page.keyboard.press('Escape');
    await page.getByRole('button', { name: 'Allow', exact: true }).click();
    await finished(page);
    await page.reload();
    await shows(answer(page));
    expect(complaints).toEqual([]);
  });
});

async function openMenus(page: Page): Promise<void> {
  await page.getByRole('button', { name: /^Model/ }).click();
  await page.keyboard.press('Escape');
  const menu = page.getByRole('button', { name: 'Open conversations' });
  if (await menu.isVisible()) await menu.click();
  await page.getByRole('button', { name: 'Settings' }).click();
  await page.getByRole('menuitem', { name: 'Allowed without asking' }).click();
  await shows(page.getByRole('dialog', { name: 'Allowed without asking' }));
  await page.keyboard.press('Escape');
  await page.keyboard.press('Escape');
  await page.getByRole('dialog').waitFor({ state: 'detached' });
}

test('the page for signing in does not violate it either', async () => {
  const server = await startServer({ token: 'a-token-of-sixteen' });
  onTestFinished(() => server.close());
  const page = await openPage('/', { at: server.url });
  await page.getByLabel('Access token').fill('wrong');
  await page.getByRole('button', { name: 'Sign in' }).click();
  await shows(page.getByText('This token is not accepted.'));
  expect(complaints).toEqual([]);
});

describe('what the policy forbids', () => {
  test('text does not become HTML, a style or a script', async () => {
    const page = await openPage();
    const refused = await page.evaluate(() => {
      const tries: (() => void)[] = [
        () => (document.body.innerHTML = '<b>x</b>'),
        () => document.body.insertAdjacentHTML('beforeend', '<b>x</b>'),
        () => (document.createElement('iframe').srcdoc = '<b>x</b>'),
        () => (document.createElement('script').text = '1'),
        () =>
          (
            window as unknown as { trustedTypes: { createPolicy: (name: string, rules: object) => unknown } }
          ).trustedTypes.createPolicy('any', {}),
      ];
      return tries.filter((attempt) => {
        try {
          attempt();
          return false;
        } catch (error) {
          return error instanceof TypeError;
        }
      }).length;
    });
    expect(refused).toBe(5);
    await page.evaluate(() => {
      const style = document.createElement('style');
      style.textContent = 'body { display: none }';
      document.head.append(style);
    });
    expect(await page.locator('body').isVisible()).toBe(true);
    await expect.poll(() => complaints.some((complaint) => complaint.includes('style-src'))).toBe(true);
    complaints.splice(0);
  });
});
