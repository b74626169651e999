import type { Locator, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { answer, ask, card, finished, openAgain, openPage, press, shows } from './browser';
import { type OddWorld, startOddWorld } from './odd-world';

const QUESTION = 'remember that the meeting is at nine';

async function openQuestion(): Promise<Page> {
  const page = await openPage();
  await ask(page, QUESTION);
  await shows(question(page));
  return page;
}

function question(page: Page) {
  return page.getByRole('group', { name: 'Allow “Save a note”?' });
}

/** Whether all of it is in the part of the page that a person sees now. */
function isInView(locator: Locator): Promise<boolean> {
  return locator.evaluate(
    (element) =>
      new Promise<boolean>((resolve) => {
        new IntersectionObserver(([entry]) => resolve((entry?.intersectionRatio ?? 0) > 0.99)).observe(element);
      }),
  );
}

/** Clicks once the decision may be taken; Playwright waits until the button is active, which it is in view only. */
async function click(page: Page, name: string): Promise<void> {
  await press(page.getByRole('button', { name, exact: true }));
}

describe('a call that changes something', () => {
  test('runs when it is allowed, with exactly what was shown', async () => {
    const page = await openQuestion();
    await shows(question(page).getByText('Saves a note on the server', { exact: false }));
    await shows(question(page).getByRole('definition').getByText('the meeting is at nine', { exact: true }));
    // The bytes themselves are one click away.
    await question(page).getByText('Exactly what will be sent').click();
    await shows(question(page).getByText('"text": "the meeting is at nine"'));
    await shows(page.getByText('Waiting for your decision above'));
    await click(page, 'Allow');
    await finished(page);
    await shows(page.getByText(/^Allowed by/));
    await shows(answer(page).getByText(/Done\./));
    await shows(card(page, /note: Done/i));
  });

  test('cannot be allowed in the first moment', async () => {
    const page = await openPage();
    await page.evaluate(() => {
      // Remembers for every button whether it was active when it appeared.
      const seen = window as unknown as { early: boolean[] };
      seen.early = [];
      new MutationObserver((changes) => {
        for (const node of changes.flatMap((change) => [...change.addedNodes])) {
          const buttons = node instanceof HTMLElement ? [...node.querySelectorAll('button')] : [];
          const allow = buttons.find((button) => button.textContent === 'Allow');
          if (allow) seen.early.push(!allow.disabled);
        }
      }).observe(document.body, { childList: true, subtree: true });
    });
    await ask(page, QUESTION);
    await click(page, 'Allow');
    expect(await page.evaluate(() => (window as unknown as { early: boolean[] }).early)).toEqual([false]);
    await finished(page);
  });

  test('runs with edited arguments, if they are JSON', async () => {
    const page = await openQuestion();
    await click(page, 'Edit & allow…');
    const editor = page.getByRole('textbox', { name: /Arguments to send/ });
    await editor.fill('{"text": ');
    await shows(page.getByText(/This is not JSON/));
    expect(await page.getByRole('button', { name: 'Allow as edited' }).isDisabled()).toBe(true);
    await editor.fill('{"text": "the meeting is at ten"}');
    await click(page, 'Allow as edited');
    await finished(page);
    await shows(page.getByText(/^Edited and allowed by/));
  });

  test('says what is wrong with edited arguments, and keeps them to be put right', async () => {
    const page = await openQuestion();
    await click(page, 'Edit & allow…');
    const editor = page.getByRole('textbox', { name: /Arguments to send/ });
    await editor.fill('{"nope": 1}');
    await click(page, 'Allow as edited');
    await page.getByText('Original message').click();
    await shows(page.getByText(/the question stays open: .*"text" is a required property/));
    expect(await editor.inputValue()).toBe('{"nope": 1}');
    await editor.fill('{"text": "the meeting is at ten"}');
    await click(page, 'Allow as edited');
    await finished(page);
    await shows(page.getByText(/^Edited and allowed by/));
  });

  test('is not asked about again once it is always allowed, until that is taken back', async () => {
    const page = await openQuestion();
    await click(page, 'Always allow…');
    expect(await page.getByRole('radio', { name: 'in this conversation' }).isChecked()).toBe(true);
    await shows(page.getByText(/Calls of save_note run without asking in this conversation, until/));
    await click(page, 'Allow, and do not ask again');
    await finished(page);
    await shows(page.getByText(/^Allowed by .*, and calls like it from now on$/));
    await ask(page, 'remember that the meeting is at ten');
    await finished(page);
    expect(await question(page).count()).toBe(0);

    await page.getByRole('button', { name: 'Settings' }).click();
    await page.getByRole('menuitem', { name: 'Allowed without asking' }).click();
    const list = page.getByRole('dialog', { name: 'Allowed without asking' });
    await list.getByRole('button', { name: 'Ask about save_note again' }).first().click();
    await shows(list.getByText('Nothing is allowed without asking', { exact: false }));
    await list.getByRole('button', { name: 'Close' }).click();
    await ask(page, 'remember that the meeting is at eleven');
    await shows(question(page));
    await click(page, 'Reject…');
    await click(page, 'Reject');
    await finished(page);
  });

  test('is refused with a reason that the model hears', async () => {
    const page = await openQuestion();
    await click(page, 'Reject…');
    await page.getByRole('textbox', { name: /Reason/ }).fill('not today');
    await click(page, 'Reject');
    await finished(page);
    await shows(card(page, /note: Refused/i));
    await shows(
      answer(page)
        .getByText(/not today/)
        .first(),
    );
  });

  test('is answered by the person in its place', async () => {
    const page = await openQuestion();
    await click(page, 'Answer myself…');
    await page.getByRole('textbox', { name: /What the model will be told/ }).fill('I wrote it down myself');
    await click(page, 'Answer');
    await finished(page);
    await shows(
      answer(page)
        .getByText(/I wrote it down myself/)
        .first(),
    );
  });

  test('waits over a reload, and is counted in every window until it is answered in one', async () => {
    const page = await openQuestion();
    await page.reload();
    await shows(question(page));
    const second = await openAgain(page);
    await shows(question(second));
    await click(second, 'Allow');
    await finished(page);
    await shows(page.getByText(/^Allowed by/));
    expect(await question(page).count()).toBe(0);
  });
});

test('a phone on its side can allow always: only the pause holds the button back, and it is seen', async () => {
  const page = await openPage('/', { viewport: { width: 844, height: 390 }, isMobile: true, hasTouch: true });
  // The pause may be over before a test could look: the page itself notes that it was drawn.
  await page.evaluate(() => {
    const root = document.documentElement;
    const look = () => {
      const bar = document.querySelector('[data-dwell="passing"]');
      const isDrawn = bar !== null && bar.getBoundingClientRect().height > 0;
      if (isDrawn && root.dataset.pauseSeen === undefined) root.dataset.pauseSeen = 'yes';
    };
    new MutationObserver(look).observe(root, { subtree: true, childList: true, attributes: true });
  });
  await ask(page, QUESTION);
  await shows(question(page));
  await click(page, 'Always allow…');
  await click(page, 'Allow, and do not ask again');
  await finished(page);
  await shows(page.getByText(/^Allowed by .*, and calls like it from now on$/));
  expect(await page.locator('html').getAttribute('data-pause-seen')).toBe('yes');
});

const PHONES = [
  { held: 'upright', width: 390, height: 844 },
  { held: 'on its side', width: 844, height: 390 },
];

test.each(PHONES)('a field that is long is seen to be cut on a phone held $held', async ({ width, height }) => {
  const page = await openPage('/', { viewport: { width, height }, isMobile: true, hasTouch: true });
  await ask(page, `remember ${'the meeting is at nine and takes long '.repeat(60)}and ends`);
  await shows(question(page).getByText('There is more than is shown.'));
  await press(question(page).getByRole('button', { name: 'Show all' }));
  await shows(
    question(page)
      .getByRole('definition')
      .getByText(/and ends$/),
  );
  await click(page, 'Reject…');
  await click(page, 'Reject');
  await finished(page);
});

test('what is decided about is never out of sight without a word beside the buttons', async () => {
  const page = await openPage('/', { viewport: { width: 844, height: 390 }, isMobile: true, hasTouch: true });
  await ask(page, QUESTION);
  await shows(question(page));
  const allow = page.getByRole('button', { name: 'Allow', exact: true });
  const said = question(page).getByText('There is more above. Look at it before you decide.');
  const shown = question(page).getByText('Saves a note on the server', { exact: false });
  await allow.scrollIntoViewIfNeeded();
  await page.locator('[data-dwell="ready"]').waitFor({ state: 'attached' });
  await expect.poll(() => said.isVisible()).toBe(true);
  await press(question(page).getByRole('button', { name: 'Show it' }));
  await expect.poll(() => said.isVisible()).toBe(false);
  expect(await isInView(shown)).toBe(true);
  // Where there is no room for both, the buttons wait until they are in view again.
  await allow.scrollIntoViewIfNeeded();
  await click(page, 'Allow');
  await finished(page);
});

describe('the inbox', () => {
  test('answers questions of conversations that are not open', async () => {
    const page = await openQuestion();
    await page.getByRole('button', { name: /New conversation/ }).click();
    await page.getByRole('button', { name: /approvals? (?:is|are) waiting/ }).click();
    const inbox = page.getByRole('dialog', { name: 'Waiting for you' });
    const allow = inbox.getByRole('button', { name: 'Allow', exact: true }).first();
    await allow.scrollIntoViewIfNeeded();
    await allow.click();
    await shows(inbox.getByText('Allowed by you'));
    await inbox.getByRole('button', { name: 'Open the conversation' }).first().click();
    await finished(page);
    await shows(answer(page).getByText(/Done\./));
  });
});

describe('odd questions', () => {
  let odd: OddWorld;
  beforeAll(async () => {
    odd = await startOddWorld();
  });
  afterAll(() => odd.close());

  const openOdd = () => openPage('/', { at: odd.url });

  test('several at once are answered in any order', async () => {
    const page = await openOdd();
    await ask(page, 'two notes');
    await shows(question(page).nth(1));
    await press(question(page).nth(1).getByRole('button', { name: 'Allow', exact: true }));
    await shows(page.getByText('Allowed by you'));
    expect(await question(page).count()).toBe(1);
    await press(question(page).getByRole('button', { name: 'Allow', exact: true }));
    await finished(page);
    expect(await card(page, /note: Done/i).count()).toBe(2);
  });

  test('an always-allow answers what is open too, and ends the asking', async () => {
    const page = await openOdd();
    await ask(page, 'two notes');
    await shows(question(page).nth(1));
    const first = question(page).first();
    await press(first.getByRole('button', { name: 'Always allow…', exact: true }));
    await press(first.getByRole('button', { name: 'Allow, and do not ask again', exact: true }));
    await finished(page);
    expect(await question(page).count()).toBe(0);
    expect(await card(page, /note: Done/i).count()).toBe(2);
    await ask(page, 'two notes');
    await finished(page);
    expect(await card(page, /note: Done/i).count()).toBe(4);
  });

  test('a late answer learns who came first', async () => {
    const page = await openOdd();
    // This window hears of the questions, and of nothing after them: the other one answers meanwhile.
    let hasHeard = false;
    await page.route('**/events', async (route) => {
      if (hasHeard) return route.abort();
      hasHeard = true;
      const body = await untilAsked(route.request().url(), 2);
      return route.fulfill({ contentType: 'text/event-stream', body });
    });
    await ask(page, 'two notes');
    await shows(question(page).nth(1));
    const { approvals } = (await (await fetch(`${odd.server.url}/api/approvals?state=pending`)).json()) as {
      approvals: { approval: string; arguments: string }[];
    };
    // The other question stays open, so that the run goes on waiting.
    const first = approvals.find((open) => open.arguments.includes('first'))?.approval ?? '';
    await fetch(`${odd.server.url}/api/approvals/${first}`, {
      method: 'POST',
      headers: { 'Content-Type': 'application/json' },
      body: JSON.stringify({ decision: 'reject', reason: 'from another window' }),
    });
    await press(question(page).first().getByRole('button', { name: 'Allow', exact: true }));
    const late = page.getByText(/^Another answer came first\. Rejected by/);
    await shows(late);
    // The connection is tried again and again; each time the server is found up, the catalog is read anew.
    await page.waitForResponse(/\/api\/tools$/);
    await page.waitForTimeout(300);
    expect(await late.isVisible()).toBe(true);
    await page.unroute('**/events');
    await click(page, 'Allow');
    await finished(page);
  });

  test('an answer that is half written stays when the connection was lost meanwhile', async () => {
    const page = await openOdd();
    await ask(page, 'two notes');
    await shows(question(page).nth(1));
    await press(question(page).first().getByRole('button', { name: 'Reject…' }));
    const reason = page.getByRole('textbox', { name: /Reason/ });
    await reason.fill('not today');
    const readAgain = page.waitForResponse(/\/api\/tools$/);
    // A request that does not get through: the page looks whether the server is there, and reads the catalog anew.
    await page.route('**/api/approvals?*', (route) => route.abort());
    await page.evaluate(() => window.dispatchEvent(new Event('focus')));
    await readAgain;
    await page.waitForTimeout(300);
    expect(await reason.inputValue()).toBe('not today');
    await page.unroute('**/api/approvals?*');
    await click(page, 'Reject');
    await press(question(page).getByRole('button', { name: 'Allow', exact: true }));
    await finished(page);
  });

  test('nothing hides in the arguments, and nothing is cut off', async () => {
    const page = await openOdd();
    await ask(page, 'tricky note');
    await shows(question(page));
    // It is seen that there is more, and all of it can be seen.
    await shows(question(page).getByText('There is more than is shown.'));
    await press(question(page).getByRole('button', { name: 'Show all' }));
    expect(await question(page).getByText('There is more than is shown.').count()).toBe(0);
    expect(await question(page).getByRole('definition').innerText()).toContain('invoiceU+202Egpj.exe <img');
    await question(page).getByText('Exactly what will be sent').click();
    const shown = await question(page).getByRole('group', { name: 'Arguments of save_note' }).innerText();
    expect(shown).toContain('invoiceU+202Egpj.exe <img src=x onerror=alert(1)>U+200B');
    expect(shown.split('\\n').length).toBe(301);
    expect(shown).toContain('the end');
    await click(page, 'Allow');
    await finished(page);
  });

  test('an unknown outcome asks what became of it', async () => {
    const page = await openOdd();
    await ask(page, 'cut off the mail');
    await click(page, 'Allow');
    await shows(card(page, /send_mail: Outcome unknown/));
    const asked = page.getByRole('group', { name: 'Did “send_mail” take effect?' });
    await shows(asked.getByText(/^Sent /));
    await shows(asked.getByRole('group', { name: 'What the check tool says' }).getByText('1 mail'));
    await asked.getByText('Exactly what was sent').click();
    await shows(asked.getByRole('group', { name: 'The request that was sent' }).getByText(/^POST http:/));
    await click(page, 'It took effect');
    await finished(page);
    await shows(page.getByText(/^Confirmed by|took effect/).first());
    await shows(answer(page).getByText('That was all.'));
  });
});

/** The events of a run up to its questions, which wait for answers. */
async function untilAsked(url: string, questions: number): Promise<string> {
  const decoder = new TextDecoder();
  let text = '';
  for await (const piece of (await fetch(url)).body ?? []) {
    text += decoder.decode(piece as Uint8Array, { stream: true });
    const asked = text.split('"approval.asked"').length - 1;
    if (asked >= questions && text.endsWith('\n\n')) break;
  }
  return text;
}
