// What the model wants to know: options, several, a form, words; declined; on a phone, in Chinese, over a kill, by a link.

import { mkdir } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { answer, ask, card, finished, openAgain, openPage, press, shows } from './browser';
import { watchTexts } from './page-texts';
import { type TestServer, startServer } from './server';

const PHONE = { viewport: { width: 375, height: 667 }, isMobile: true, hasTouch: true };

const question = (page: Page) => page.getByRole('group', { name: /^(The model asks you|模型向你提问)$/ });

const button = (page: Page, name: string) => question(page).getByRole('button', { name, exact: true });

/** A picture to be looked at, where a folder for it is named. */
async function picture(page: Page, name: string): Promise<void> {
  const folder = process.env.PICTURES;
  if (folder === undefined) return;
  await mkdir(folder, { recursive: true });
  await page.screenshot({ path: `${folder}/${name}.png` });
}

/** Nothing is wider than the screen. */
async function fits(page: Page): Promise<void> {
  const wide = await page.evaluate(() => document.documentElement.scrollWidth > window.innerWidth);
  expect(wide).toBe(false);
}

test('one option is chosen, and the model hears it', async () => {
  const page = await openPage();
  await ask(page, 'ask me to choose a colour');
  await shows(question(page).getByText('Which colour do you like best?'));
  await shows(card(page, /^Ask you: Waits for your answer$/));
  await shows(question(page).getByText(/The model reads the answer, and it is stored: no passwords or keys\./));
  // What must be chosen is asked for by the server, in words.
  await press(button(page, 'Send the answer'));
  await shows(question(page).getByText(/The answer must be one of: Green, Blue, Red|The answer is empty\./));
  await question(page).getByRole('radio', { name: 'Blue' }).check();
  // What is put right is not called wrong any more.
  expect(await question(page).getByRole('alert').count()).toBe(0);
  await picture(page, 'options-en');
  await press(button(page, 'Send the answer'));
  await finished(page);
  await shows(page.getByText(/^Answered by .*: Blue$/));
  await shows(answer(page).getByText('Blue', { exact: true }));
  expect(await question(page).count()).toBe(0);
});

test('several options are chosen, in the order in which they are offered', async () => {
  const page = await openPage();
  await ask(page, 'ask me which of several days suit me');
  await shows(question(page));
  await press(button(page, 'Send the answer'));
  await shows(question(page).getByText(/The answer (is empty|must)/));
  await question(page).getByRole('checkbox', { name: 'Friday' }).check();
  await question(page).getByRole('checkbox', { name: 'Monday' }).check();
  await press(button(page, 'Send the answer'));
  await finished(page);
  await shows(page.getByText(/^Answered by .*: Monday, Friday$/));
});

test('a form says beside each field what is wrong, keeps what is filled in, and is sent when it fits', async () => {
  const page = await openPage();
  await ask(page, 'ask me for the details of a trip');
  await shows(question(page).getByText('Tell me about your trip.'));
  const field = (name: RegExp | string) => question(page).getByLabel(name);
  expect(await field('How many people').inputValue()).toBe('2');
  await field('First day').fill('2026-12-24');
  await field('How many people').fill('12');
  await question(page).getByRole('radio', { name: 'Plane' }).check();
  await field(/Anything else/).fill('A window\nseat');
  await press(button(page, 'Send the answer'));
  await shows(question(page).getByText('“Where to” is missing'));
  await shows(question(page).getByText('“How many people” must not be greater than 9'));
  await shows(question(page).getByText('The answer does not fit the question.'));
  await picture(page, 'form-error-en');
  // The first field that is wrong has the focus.
  expect(await field('Where to').evaluate((element) => element === document.activeElement)).toBe(true);
  expect(await field(/Anything else/).inputValue()).toBe('A window\nseat');
  await field('Where to').fill('Kyoto');
  await field('How many people').fill('3');
  await press(button(page, 'Send the answer'));
  await finished(page);
  await shows(page.getByText(/^Answered by .*place: Kyoto; way: Plane$/));
});

test('a person would rather not answer, and says why', async () => {
  const page = await openPage();
  await ask(page, 'ask me something');
  await question(page).getByRole('textbox', { name: 'Your answer' }).fill('well');
  await press(button(page, 'I’d rather not answer…'));
  await question(page)
    .getByRole('textbox', { name: /^Why, or what to do instead/ })
    .fill('that is private');
  await picture(page, 'decline-en');
  // What was written before is not lost with a second thought.
  await press(button(page, 'Cancel'));
  expect(await question(page).getByRole('textbox', { name: 'Your answer' }).inputValue()).toBe('well');
  await press(button(page, 'I’d rather not answer…'));
  await question(page).getByRole('textbox', { name: /^Why/ }).fill('that is private');
  await press(button(page, 'I’d rather not answer'));
  await finished(page);
  await shows(page.getByText(/^Not answered by .*: that is private$/));
  await shows(card(page, /^Ask you: Refused$/));
  await shows(
    answer(page)
      .getByText(/that is private/)
      .first(),
  );
});

test('a question waits over a reload, is answered in one window, and gone in the other', async () => {
  const page = await openPage();
  await ask(page, 'ask me to choose a colour');
  await shows(question(page));
  await page.reload();
  await shows(question(page));
  const second = await openAgain(page);
  await question(second).getByRole('radio', { name: 'Red' }).check();
  await press(button(second, 'Send the answer'));
  await finished(page);
  await shows(page.getByText(/^Answered by .*: Red$/));
  expect(await question(page).count()).toBe(0);
});

test('the inbox has questions of conversations that are not open', async () => {
  const page = await openPage();
  await ask(page, 'ask me to choose a colour');
  await shows(question(page));
  await page.getByRole('button', { name: /New conversation/ }).click();
  await page.getByRole('button', { name: /approvals? (?:is|are) waiting/ }).click();
  const inbox = page.getByRole('dialog', { name: 'Waiting for you' });
  const asked = inbox.getByRole('group', { name: 'The model asks you' }).last();
  await asked.getByRole('radio', { name: 'Green' }).check();
  await press(asked.getByRole('button', { name: 'Send the answer' }));
  await shows(inbox.getByText('Answered by you: Green'));
});

describe('on a phone', () => {
  test.each(['en-US', 'zh-CN'])('the form fits and is filled in (%s)', async (locale) => {
    const page = await openPage('/', { ...PHONE, locale });
    const isChinese = locale === 'zh-CN';
    await ask(page, isChinese ? '用表单问我旅行计划' : 'ask me for the details of a trip');
    await shows(question(page));
    await fits(page);
    await question(page).scrollIntoViewIfNeeded();
    await picture(page, `phone-form-${locale}`);
    await question(page)
      .getByLabel(isChinese ? '人数' : 'How many people')
      .fill('0');
    await press(button(page, isChinese ? '发送答复' : 'Send the answer'));
    await shows(question(page).getByText(isChinese ? '“人数”不能小于 1' : '“How many people” must not be less than 1'));
    await fits(page);
    await picture(page, `phone-form-error-${locale}`);
    await question(page)
      .getByLabel(isChinese ? '目的地' : 'Where to')
      .fill('京都');
    await question(page)
      .getByLabel(isChinese ? '出发日期' : 'First day')
      .fill('2026-12-24');
    await question(page)
      .getByLabel(isChinese ? '人数' : 'How many people')
      .fill('2');
    await press(button(page, isChinese ? '发送答复' : 'Send the answer'));
    await finished(page);
    await shows(page.getByText(/京都/));
  });
});

test('on the Chinese page all of it is Chinese', async () => {
  const page = await openPage('/', { locale: 'zh-CN' });
  const { look, end } = watchTexts(page);
  await ask(page, '用表单问我旅行计划');
  await shows(question(page));
  await look();
  await picture(page, 'form-zh');
  await question(page).getByLabel('人数').fill('12');
  await press(button(page, '发送答复'));
  await shows(question(page).getByText('缺少“目的地”'));
  await shows(question(page).getByText('“人数”不能大于 9'));
  await look();
  await picture(page, 'form-error-zh');
  await press(button(page, '我不想回答…'));
  await look();
  await press(button(page, '我不想回答'));
  await finished(page);
  await shows(page.getByText(/选择不回答$/));
  await look();
  await ask(page, '问我哪几个日子方便');
  await shows(question(page));
  await picture(page, 'several-zh');
  await look();
  await question(page).getByRole('checkbox', { name: '星期三' }).check();
  await press(button(page, '发送答复'));
  await finished(page);
  await shows(page.getByText(/已答复：?.*星期三/));
  await look();
  end();
});

describe('a server that is killed, and a link', () => {
  let server: TestServer;
  let told: { link: string }[] = [];
  const webhook = createServer((request, response) => {
    let text = '';
    request.on('data', (piece: Buffer) => (text += piece.toString()));
    request.on('end', () => {
      told.push(JSON.parse(text) as { link: string });
      response.writeHead(204).end();
    });
  });
  beforeAll(async () => {
    await new Promise<void>((resolve) => webhook.listen(0, '127.0.0.1', resolve));
    const { port } = webhook.address() as AddressInfo;
    server = await startServer({ config: `[approvals]\nwebhook = "http://127.0.0.1:${port}/asked"\n` });
  });
  afterAll(async () => {
    await server.close();
    webhook.close();
  });

  test('what is half filled in when the server is killed can be sent to the next one', async () => {
    const page = await openPage('/', { at: server.url });
    await ask(page, 'ask me for the details of a trip');
    await question(page).getByLabel('Where to').fill('Kyoto');
    await server.restart(500);
    await question(page).getByLabel('First day').fill('2026-12-24');
    expect(await question(page).getByLabel('Where to').inputValue()).toBe('Kyoto');
    await expect
      .poll(
        () =>
          fetch(server.url).then(
            (it) => it.ok,
            () => false,
          ),
        { timeout: 20_000 },
      )
      .toBe(true);
    await press(button(page, 'Send the answer'));
    await finished(page);
    await shows(page.getByText(/^Answered by .*place: Kyoto$/));
  });

  test.each(['en-US', 'zh-CN'])('the page of a link shows the form and takes the reply (%s)', async (locale) => {
    const isChinese = locale === 'zh-CN';
    told = [];
    const page = await openPage('/', { at: server.url, locale });
    await ask(page, isChinese ? '用表单问我旅行计划' : 'ask me for the details of a trip');
    await expect.poll(() => told.length).toBeGreaterThan(0);
    const linked = await openPage(new URL(told[0]?.link ?? '').pathname + new URL(told[0]?.link ?? '').search, {
      ...PHONE,
      at: server.url,
      locale,
    });
    await shows(linked.getByRole('heading', { name: isChinese ? '模型向你提问' : 'The model asks you' }));
    await fits(linked);
    await picture(linked, `link-${locale}`);
    await linked.getByLabel(isChinese ? '目的地' : 'Where to').fill('  ');
    await linked.getByLabel(isChinese ? '出发日期' : 'First day').fill('2026-12-24');
    await linked.getByRole('radio', { name: isChinese ? '火车' : 'Train' }).check();
    await linked.getByRole('button', { name: isChinese ? '发送答复' : 'Send the answer' }).click();
    await shows(linked.getByText(isChinese ? '缺少“目的地”' : '“Where to” is missing'));
    await picture(linked, `link-error-${locale}`);
    expect(await linked.getByRole('radio', { name: isChinese ? '火车' : 'Train' }).isChecked()).toBe(true);
    await linked.getByLabel(isChinese ? '目的地' : 'Where to').fill('京都');
    await linked.getByRole('button', { name: isChinese ? '发送答复' : 'Send the answer' }).click();
    await shows(linked.getByText(isChinese ? '这个问题已有答复' : 'This question is settled'));
    await finished(page);
    await shows(page.getByText(/link:local.*京都/));
  });
});
