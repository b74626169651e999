import type { Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { answer, ask, finished, openPage, shows } from './browser';
import { type OddWorld, startOddWorld } from './odd-world';

let odd: OddWorld;
beforeAll(async () => {
  odd = await startOddWorld();
});
afterAll(() => odd.close());

describe('the model picker', () => {
  test('tells state, way of calling tools and price, and remembers a variant', async () => {
    const page = await openPage('/', { at: odd.url });
    await page.getByRole('button', { name: /^Model/ }).click();
    const menu = page.getByRole('menu', { name: 'Model' });
    await shows(menu.getByRole('menuitemradio', { name: /house Ready calls tools natively \$0\.25 in, \$2\.00 out/ }));
    await shows(menu.getByRole('menuitemradio', { name: /small Ready tools in the prompt \(hermes\)/ }));
    await menu.getByRole('menuitemradio', { name: 'house thorough' }).click();
    await page.reload();
    await shows(page.getByRole('button', { name: 'Model: house · thorough' }));
    const sent = page.waitForRequest((request) => request.method() === 'POST' && request.url().endsWith('/api/runs'));
    await ask(page, 'hello');
    expect((await sent).postDataJSON()).toMatchObject({ model: 'house', variant: 'thorough' });
    await finished(page);
  });

  test('is used from the keyboard, and what cannot be chosen says why there too', async () => {
    const page = await openPage('/healthz', { at: odd.url });
    // So few that they are not searched: the letters go to the list.
    await page.route('**/api/models', async (route) => {
      const list = (await (await route.fetch()).json()) as { models: { name: string }[] };
      const models = list.models.filter(({ name }) => !['desk', 'down'].includes(name));
      await route.fulfill({ json: { ...list, models } });
    });
    await page.goto(odd.url);
    await page.getByRole('button', { name: 'Model: odd' }).focus();
    await page.keyboard.press('Enter');
    // The chosen one has the focus as soon as the menu is there.
    await shows(page.locator('[role="menuitemradio"][aria-checked="true"]:focus'));
    await page.keyboard.press('v');
    expect(await focused(page)).toContain('Set the environment variable ARK_API_KEY');
    // Not ready: nothing happens.
    await page.keyboard.press('Enter');
    await shows(page.getByRole('menu', { name: 'Model' }));
    await page.keyboard.press('Home');
    await page.keyboard.press('ArrowDown');
    expect(await focused(page)).toContain('house');
    await page.keyboard.press('Enter');
    await shows(page.getByRole('button', { name: 'Model: house' }));
    expect(await focused(page)).toContain('house');
  });

  test('finds one among many by what is typed', async () => {
    const page = await openPage('/healthz', { at: odd.url });
    await page.route('**/api/models', async (route) => {
      const list = (await (await route.fetch()).json()) as { models: object[] };
      const more = Array.from({ length: 9 }, (_, n) => ({ name: `more-${n}`, mode: 'native', ready: true }));
      await route.fulfill({ json: { ...list, models: [...list.models, ...more] } });
    });
    await page.goto(odd.url);
    await page.getByRole('button', { name: 'Model: odd' }).click();
    const menu = page.getByRole('menu', { name: 'Model' });
    await shows(menu.getByRole('menuitemradio', { name: /more-8/ }));
    await shows(page.locator('input[type="search"]:focus'));
    await page.keyboard.type('gpt mini');
    await menu.getByRole('menuitemradio', { name: /more-8/ }).waitFor({ state: 'detached' });
    await page.keyboard.press('ArrowDown');
    expect(await focused(page)).toContain('house');
    // Whoever goes on to type means the search.
    await page.keyboard.type('x');
    await shows(menu.getByText('No model is called that.'));
    await page.keyboard.press('Backspace');
    await page.keyboard.press('Enter');
    await shows(page.getByRole('button', { name: 'Model: house' }));
  });
});

test('a model is asked what it can do, and the picker tells what was found', async () => {
  const page = await openPage();
  await page.getByRole('button', { name: 'Model: demo' }).click();
  await page.getByRole('menuitem', { name: /^Test what demo can do/ }).click();
  await page.getByRole('button', { name: 'Model: demo' }).click();
  await shows(page.getByRole('menuitemradio', { name: /demo .*probed: native calls, several at once/ }));
});

test('an answer says who gave it and what it took, and the conversation what all of it took', async () => {
  const page = await openPage('/', { at: odd.url });
  await ask(page, 'divide by zero');
  await finished(page);
  const total = answer(page).getByRole('button', { name: /tokens/ });
  await shows(total);
  await shows(page.getByText(/^This conversation: .* tokens/));
  await total.click();
  const table = answer(page).getByRole('table', { name: 'Tokens and cost of each step' });
  await shows(table.getByRole('cell', { name: 'odd' }));
  expect(await table.getByRole('row').count()).toBe(4);
  // Two steps of 40 tokens in and 6 out.
  expect(await total.innerText()).toBe('92 tokens · $0.000044');
  await shows(page.getByText('This conversation: 92 tokens · $0.000044'));
  await page.reload();
  await shows(answer(page).getByRole('button', { name: /tokens/ }));
});

function focused(page: Page): Promise<string> {
  return page.evaluate(() => document.activeElement?.textContent ?? '');
}
