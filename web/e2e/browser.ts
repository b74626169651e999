// A browser for tests, and the words in which they speak about the page.

import { type Browser, type BrowserContextOptions, type Locator, type Page, chromium } from 'playwright-core';
import { afterAll, afterEach, beforeAll, expect, inject } from 'vitest';

export const url = inject('url');

const ARGS = [
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
];

let browser: Browser;
const opened: Page[] = [];

/** What the browser complained about. */
export const complaints: string[] = [];

beforeAll(async () => {
  browser = await chromium.launch({ executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium', args: ARGS });
});

afterAll(() => browser.close());

afterEach(async () => {
  await Promise.all(opened.splice(0).map((page) => page.context().close()));
  // A complaint that a test did not expect is a fault, be it an error or a breach of the page's policy.
  expect(complaints.splice(0)).toEqual([]);
});

/** Opens a page of its own, with nothing remembered. */
export async function openPage(path = '/', options: BrowserContextOptions & { at?: string } = {}): Promise<Page> {
  const { at = url, ...context } = options;
  const page = await (await browser.newContext({ locale: 'en-US', ...context })).newPage();
  opened.push(page);
  await page.context().exposeFunction('reportViolation', (what: string) => complaints.push(what));
  await page.context().addInitScript(() => {
    document.addEventListener('securitypolicyviolation', ({ effectiveDirective, blockedURI, sample }) => {
      const { reportViolation } = window as unknown as { reportViolation: (what: string) => void };
      reportViolation(`policy violated: ${effectiveDirective} ${blockedURI} ${sample}`);
    });
  });
  page.on('pageerror', (error) => complaints.push(error.message));
  page.on('console', (message) => {
    // What the server refuses is told to the person; the browser's own line about it is no fault.
    if (message.type() === 'error' && !/Failed to load resource/.test(message.text())) complaints.push(message.text());
  });
  await page.goto(at + path);
  return page;
}

/** Opens the same address in a second window of the same person. */
export async function openAgain(page: Page): Promise<Page> {
  const second = await page.context().newPage();
  await second.goto(page.url());
  return second;
}

export async function ask(page: Page, text: string): Promise<void> {
  await page.getByRole('textbox', { name: /Message|消息/ }).fill(text);
  await page.getByRole('button', { name: /^(Send|发送)$/ }).click();
}

/** The latest answer. */
export function answer(page: Page): Locator {
  return page.getByRole('article', { name: /^(Answer|回答)$/ }).last();
}

/** Waits until the conversation is there and nothing more is being written to it. */
export async function finished(page: Page): Promise<void> {
  const send = page.getByRole('button', { name: /^(Send|发送)$/ });
  await send.or(page.getByRole('button', { name: /^(Stop|停止)$/ })).waitFor();
  await page.getByText(/Loading the conversation|正在载入对话/).waitFor({ state: 'detached' });
  await send.waitFor({ timeout: 60_000 });
}

/** The card of a call, by a piece of its name. */
export function card(page: Page, name: RegExp): Locator {
  return page.getByRole('article', { name });
}

export async function shows(locator: Locator): Promise<void> {
  await locator.first().waitFor({ timeout: 30_000 });
}

/** Clicks a button that may wait until it is in view: those that decide have their pause there. */
export async function press(button: Locator): Promise<void> {
  await button.scrollIntoViewIfNeeded();
  await button.click();
}
