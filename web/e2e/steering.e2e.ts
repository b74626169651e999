// Speaking to a run at work, and a run that asks whether it may spend more: both are the real server's business.

import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { answer, ask, finished, openPage, shows } from './browser';
import { type TestServer, startServer } from './server';

const QUESTION = 'remember that the meeting is at nine';

describe('a run at work', () => {
  let server: TestServer;

  beforeAll(async () => {
    // The demo model takes a few dozen tokens a step, so that its first one is beyond this share.
    const config = '[budgets.run]\ntokens = 1_000\nask_at = 0.01\n';
    server = await startServer({ config });
  });

  afterAll(() => server.close());

  test('hears what is said to it, over a kill of the server, and asks before it spends more', async () => {
    const page = await openPage('/', { at: server.url });
    await ask(page, QUESTION);
    const budget = page.getByRole('group', { name: 'May this run spend more?' });
    await shows(budget);
    await page.getByRole('textbox', { name: 'Message' }).fill('and be quick about it');
    await page.getByRole('button', { name: 'Send now' }).click();
    const said = answer(page).getByRole('note', { name: 'You' });
    await shows(said.getByText('and be quick about it'));
    await shows(said.getByText('Will be read at the next step'));

    await server.restart(300);
    await page.reload();
    await shows(said.getByText('Will be read at the next step'));
    await page.getByRole('button', { name: 'Continue' }).click();
    await shows(page.getByRole('group', { name: 'Allow “Save a note”?' }));
    await page.getByRole('button', { name: 'Allow', exact: true }).click();
    await finished(page);
    expect(await said.getByText('Will be read').count()).toBe(0);
    expect(await said.count()).toBe(1);

    // What is read again looks the same.
    await page.reload();
    await finished(page);
    await shows(said.getByText('and be quick about it'));
  });

  test('ends where nobody lets it go on', async () => {
    const page = await openPage('/', { at: server.url });
    await ask(page, QUESTION);
    await page.getByRole('button', { name: 'Stop here' }).click();
    await finished(page);
    await shows(page.getByText('A budget is used up'));
    await shows(
      page.getByText(/^More of the budget of this run was not allowed: \d+ tokens of 1,000 tokens are used\.$/),
    );
  });
});
