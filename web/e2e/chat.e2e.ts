import type { Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { answer, ask, card, finished, openAgain, openPage, shows } from './browser';
import { type OddWorld, WORDS, startOddWorld } from './odd-world';

let odd: OddWorld;
beforeAll(async () => {
  odd = await startOddWorld();
});
afterAll(() => odd.close());

const openOdd = () => openPage('/', { at: odd.url });

test('what is written and not sent is kept for each conversation, over going elsewhere and a reload', async () => {
  const page = await openPage();
  const box = page.getByRole('textbox', { name: 'Message' });
  await box.fill('a thought for later');
  await page.reload();
  await expect.poll(() => box.inputValue()).toBe('a thought for later');
  await ask(page, 'what is 12.5% of 3,480?');
  await finished(page);
  await expect.poll(() => box.inputValue()).toBe('');
  const first = page.url();
  await box.fill('a draft of an answer');
  await page.getByRole('button', { name: /^New conversation/ }).click();
  await expect.poll(() => box.inputValue()).toBe('');
  await box.fill('something else');
  await page.goBack();
  await expect.poll(() => page.url()).toBe(first);
  await expect.poll(() => box.inputValue()).toBe('a draft of an answer');
  await page.goForward();
  await expect.poll(() => box.inputValue()).toBe('something else');
  await page.reload();
  await expect.poll(() => box.inputValue()).toBe('something else');
});

describe('a question', () => {
  test('is answered with a tool, and the card shows what it did', async () => {
    const page = await openPage();
    await ask(page, 'what is 12.5% of 3,480?');
    await shows(card(page, /calculator: Done/i));
    await finished(page);
    await shows(answer(page).getByText('435', { exact: true }));
    await card(page, /calculator: Done/i)
      .getByRole('button')
      .first()
      .click();
    await shows(page.getByRole('group', { name: 'Arguments' }).getByText('"12.5% of 3,480"'));
    await shows(page.getByRole('group', { name: 'Result' }).getByText('435'));
    await shows(page.getByText('What each stage decided'));
    // What the model thought is there for whoever wants it.
    expect(await page.getByText('the calculator is exact').count()).toBe(0);
    await page.getByRole('button', { name: /Thought/ }).click();
    await shows(page.getByText('the calculator is exact'));
  });

  test('with several parts is answered by calls that sit together', async () => {
    const page = await openPage();
    await ask(page, 'what time is it in Tokyo and in Paris, and what is 2^64?');
    await finished(page);
    await shows(page.getByText('3 calls at once'));
    expect(await card(page, /time: Done/i).count()).toBe(2);
    await shows(answer(page).getByText('18446744073709551616', { exact: true }));
  });

  test('is kept: a reload shows the same, and the card still tells everything', async () => {
    const page = await openPage();
    await ask(page, 'what is 12.5% of 3,480?');
    await finished(page);
    const before = await answer(page).innerText();
    await page.reload();
    await shows(answer(page));
    expect(withoutDetails(await answer(page).innerText())).toBe(withoutDetails(before));
    await card(page, /calculator: Done/i)
      .getByRole('button')
      .first()
      .click();
    await shows(page.getByText('What each stage decided'));
  });
});

describe('JavaScript for the browser', () => {
  test('runs by its button, and only by that', async () => {
    const page = await openPage();
    await ask(page, 'run `6 * 7` in my browser');
    await shows(card(page, /JavaScript in your browser: Waiting for you/));
    await shows(page.getByText('Code above is waiting for you'));
    await page.getByRole('button', { name: 'Run', exact: true }).click();
    await finished(page);
    await shows(answer(page).getByText('42', { exact: true }));
  });

  test('is read as it runs: nothing in it hides or turns directions', async () => {
    const page = await openPage();
    const code = 'const level = "user\u202e\u2066// only admins\u2069\u2066"; level\u3164 = "\u{e0041}"';
    await ask(page, `run \`${code}\` in my browser`);
    const pane = page.getByRole('group', { name: 'JavaScript', exact: true });
    await shows(pane);
    const shown = await pane.locator('pre').innerText();
    expect(shown).toBe('const level = "userU+202EU+2066// only adminsU+2069U+2066"; levelU+3164 = "U+E0041"');
    expect(await pane.locator('[title="A character that would not be visible"]').count()).toBe(6);
    await page.getByRole('button', { name: 'Don’t run' }).click();
    await finished(page);
  });

  test('does not run if it is not wanted', async () => {
    const page = await openPage();
    await ask(page, 'run `6 * 7` in my browser');
    await page.getByRole('button', { name: 'Don’t run' }).click();
    await finished(page);
    await shows(card(page, /JavaScript in your browser: Failed/));
    // What the model is told is behind a click.
    const told = card(page, /JavaScript in your browser: Failed/).getByText('the user declined to run it');
    expect(await told.first().isVisible()).toBe(false);
    await card(page, /JavaScript in your browser: Failed/)
      .getByText('What the model was told')
      .first()
      .click();
    await shows(told);
  });

  test('still waits after a reload', async () => {
    const page = await openPage();
    await ask(page, 'run `6 * 7` in my browser');
    await shows(page.getByRole('button', { name: 'Run', exact: true }));
    await page.reload();
    await page.getByRole('button', { name: 'Run', exact: true }).click();
    await finished(page);
    await shows(answer(page).getByText('42', { exact: true }));
  });

  test('runs in one of two windows, and the other says so', async () => {
    const page = await openPage();
    await ask(page, 'run `new Promise((done) => setTimeout(() => done(42), 3000))` in my browser');
    await shows(page.getByRole('button', { name: 'Run', exact: true }));
    const second = await openAgain(page);
    await shows(second.getByRole('button', { name: 'Run', exact: true }));
    await page.getByRole('button', { name: 'Run', exact: true }).click();
    await shows(second.getByText('Another window runs this call.'));
    expect(await second.getByRole('button', { name: /^(Run|Don’t run)$/ }).count()).toBe(0);
    await finished(page);
    await finished(second);
    await shows(answer(page).getByText('42', { exact: true }));
    await shows(answer(second).getByText('42', { exact: true }));
  });

  test('that a reload broke off can be run once more in the same window, and in no other', async () => {
    const page = await openPage();
    await ask(page, 'run `new Promise((done) => setTimeout(() => done(42), 2000))` in my browser');
    await page.getByRole('button', { name: 'Run', exact: true }).click();
    await shows(page.getByText('Running…'));
    await page.reload();
    await shows(page.getByText(/started to run it and was then reloaded/));
    const second = await openAgain(page);
    await shows(second.getByText('Another window runs this call.'));
    await page.getByRole('button', { name: 'Run', exact: true }).click();
    await finished(page);
    await shows(answer(page).getByText('42', { exact: true }));
  });
});

describe('a stream', () => {
  const QUESTION = 'say it slowly';
  const FIRST = 'word3';

  test('goes on after a reload in its middle, and nothing is lost or doubled', async () => {
    const page = await openOdd();
    await ask(page, QUESTION);
    await shows(answer(page).getByText(FIRST));
    expect(await page.getByRole('button', { name: 'Stop' }).count()).toBe(1);
    await page.reload();
    await finished(page);
    expect(await numbered(page)).toEqual(WORDS);
    // What is kept on the server is the measure.
    await page.reload();
    await finished(page);
    expect(await numbered(page)).toEqual(WORDS);
  });

  test('is the same in a second window', async () => {
    const page = await openOdd();
    await ask(page, QUESTION);
    await shows(answer(page).getByText(FIRST));
    const second = await openAgain(page);
    await finished(second);
    await finished(page);
    expect(words(await answer(second).innerText())).toEqual(words(await answer(page).innerText()));
  });

  test('survives a cut connection', async () => {
    const page = await openOdd();
    await ask(page, QUESTION);
    await shows(answer(page).getByText(FIRST));
    await page.context().setOffline(true);
    await shows(page.getByText(/Connection lost|Helve is not responding/));
    await page.context().setOffline(false);
    await page.getByText('Connection lost').waitFor({ state: 'detached' });
    await finished(page);
    expect(await numbered(page)).toEqual(WORDS);
  });

  test('survives a server that dies and comes back', async () => {
    const page = await openOdd();
    await ask(page, QUESTION);
    await shows(answer(page).getByText(FIRST));
    await odd.server.restart(2_500);
    await page.getByText('Helve is not responding.').waitFor({ state: 'detached' });
    await finished(page);
    expect(await numbered(page)).toEqual(WORDS);
    await page.reload();
    await finished(page);
    expect(await numbered(page)).toEqual(WORDS);
  });

  test('can be stopped, and says so after a reload too', async () => {
    const page = await openOdd();
    await ask(page, QUESTION);
    await shows(answer(page).getByText(FIRST));
    await page.getByRole('button', { name: 'Stop' }).click();
    await finished(page);
    await shows(answer(page).getByText('You stopped this answer.'));
    await page.reload();
    await shows(answer(page).getByText('You stopped this answer.'));
  });
});

describe('conversations', () => {
  test('are listed, renamed, found by their address and deleted', async () => {
    const page = await openPage();
    await ask(page, 'what is 12.5% of 3,480?');
    await finished(page);
    expect(new URL(page.url()).pathname).toMatch(/^\/c\/.+/);
    const list = page.getByRole('navigation', { name: 'Conversations' });
    await list
      .getByRole('button', { name: /Actions for/ })
      .first()
      .click();
    await page.getByRole('menuitem', { name: 'Rename' }).click();
    await page.getByRole('textbox', { name: 'Title' }).fill('Sums');
    await page.getByRole('button', { name: 'Save' }).click();
    await shows(list.getByRole('link', { name: 'Sums' }));
    await page.getByRole('button', { name: /New conversation/ }).click();
    expect(new URL(page.url()).pathname).toBe('/');
    await shows(page.getByRole('heading', { name: 'What would you like to do?' }));
    await list.getByRole('link', { name: 'Sums' }).click();
    await shows(answer(page).getByText('435', { exact: true }));
    await list.getByRole('button', { name: /Actions for “Sums”/ }).click();
    await page.getByRole('menuitem', { name: 'Delete' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click();
    await page.getByRole('dialog').waitFor({ state: 'detached' });
    expect(await list.getByRole('link', { name: 'Sums' }).count()).toBe(0);
    expect(new URL(page.url()).pathname).toBe('/');
  });

  test('that do not exist say so', async () => {
    const page = await openPage('/c/0190163d-8694-739b-aea5-966c26f8ad91');
    await shows(page.getByText('This conversation does not exist'));
  });

  test('are in a drawer where the screen is narrow', async () => {
    const page = await openPage('/', { viewport: { width: 360, height: 700 } });
    await ask(page, 'what is 12.5% of 3,480?');
    await finished(page);
    expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBe(360);
    await page.getByRole('button', { name: 'Open conversations' }).click();
    const drawer = page.getByRole('dialog', { name: 'Conversations' });
    await drawer.getByRole('button', { name: /New conversation/ }).click();
    await drawer.waitFor({ state: 'detached' });
    await shows(page.getByRole('heading', { name: 'What would you like to do?' }));
  });
});

describe('what goes wrong', () => {
  test('with a message is said beside it, with a way on', async () => {
    const page = await openOdd();
    await page.route('**/api/models', async (route) => {
      const list = (await (await route.fetch()).json()) as { models: object[] };
      const gone = { name: 'gone', mode: 'native', ready: true };
      await route.fulfill({ json: { ...list, models: [...list.models, gone] } });
    });
    await page.reload();
    await page.getByRole('button', { name: /^Model/ }).click();
    await page.getByRole('menuitemradio', { name: 'gone' }).click();
    await ask(page, 'hello');
    await shows(page.getByText('This model does not exist, or is no longer configured.'));
    await page.getByRole('button', { name: /^Model/ }).click();
    await page.getByRole('menuitemradio', { name: /^odd/ }).click();
    await page.getByRole('button', { name: 'Send again' }).click();
    await finished(page);
    await shows(answer(page).getByText('That was all.'));
  });

  test('with an answer is said in its place, and what was read of it stays', async () => {
    const page = await openOdd();
    await ask(page, 'break down please');
    await finished(page);
    const look = async () => {
      await shows(page.getByText('The answer could not be completed.'));
      await shows(page.getByText('The model’s answer broke off.'));
      // What was read stays, and is not taken for a whole answer.
      await shows(answer(page).getByText('I begin, and then'));
      await shows(answer(page).getByText('The answer was cut off here.'));
    };
    await look();
    await page.reload();
    await look();
    await page.getByRole('button', { name: 'Try again' }).click();
    await shows(page.getByRole('article', { name: 'You' }).getByText('break down please').nth(1));
    await finished(page);
  });
});

test('markdown made to do harm loads nothing and runs nothing', async () => {
  const page = await openOdd();
  const requests: string[] = [];
  page.on('request', (request) => requests.push(request.url()));
  await ask(page, 'hostile markdown');
  await finished(page);
  await shows(answer(page).getByText('The end of it.'));
  await shows(answer(page).getByRole('link', { name: /leak canary\.example/ }));
  expect(await page.evaluate(() => 'pwned' in window)).toBe(false);
  expect(requests.filter((request) => request.includes('canary'))).toEqual([]);
});

/** The words that the model counts when it speaks slowly. */
async function numbered(page: Page): Promise<string[]> {
  return words(await answer(page).innerText()).filter((word) => word.startsWith('word'));
}

function words(text: string): string[] {
  return withoutDetails(text).split(/\s+/).filter(Boolean);
}

/** The text without the time it took to think, which only who was there can know. */
function withoutDetails(text: string): string {
  return text.replace(/Thought for \S+|Thoughts/, '');
}
