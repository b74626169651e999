// Makes the pictures of the README from the real binary: `cargo run -p xtask -- pictures`.
//
// An answer and a call that waits for a person, in both languages, with the model `demo`.

import { spawn } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { createInterface } from 'node:readline';

import { chromium } from 'playwright-core';

const root = path.resolve(import.meta.dirname, '../..');
const binary = process.argv[2] ?? path.join(root, 'target/quick/helve');

const PICTURES = [
  { locale: 'en-US', file: 'page.png', messages: ['What is 12.5% of 3,480?', 'Remember that the deposit is 435'] },
  { locale: 'zh-CN', file: 'page.zh-CN.png', messages: ['3480 的 12.5% 是多少？', '记住：定金是 435 元'] },
];

/** A server with an empty data directory, on a free port, that finds no model but `demo`. */
async function serve(home) {
  const server = spawn(binary, ['serve', '--listen', '127.0.0.1:0', '--data', path.join(home, 'data')], {
    env: { PATH: process.env.PATH, HOME: home, OLLAMA_API_URL: 'http://127.0.0.1:1', HELVE_DEFAULT_MODEL: 'demo' },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  for await (const line of createInterface({ input: server.stdout })) {
    const url = line.match(/http:\S+/)?.[0];
    if (url) return { server, url };
  }
  throw new Error(`${binary} did not start`);
}

async function take(browser, { locale, file, messages }) {
  const home = await mkdtemp(path.join(tmpdir(), 'helve-picture-'));
  const { server, url } = await serve(home);
  try {
    const viewport = { width: 1120, height: 1040 };
    const context = await browser.newContext({ locale, viewport, deviceScaleFactor: 1.5, colorScheme: 'light' });
    const page = await context.newPage();
    const allow = page.getByRole('button', { name: /^(Allow|允许)/ });
    await page.goto(url);
    for (const message of messages) {
      await page.getByRole('textbox', { name: /Message|消息/ }).fill(message);
      await page.getByRole('button', { name: /^(Send|发送)$/ }).click();
      const isLast = message === messages.at(-1);
      const done = isLast ? allow : page.getByText('435').last();
      await done.waitFor();
      // Once an answer is complete, the next message can be sent.
      if (!isLast) await page.getByRole('button', { name: /^(Stop|停止)/ }).waitFor({ state: 'detached' });
    }
    await page.getByRole('button', { name: /^(Calculator|计算器).*= 435/ }).waitFor();
    await allow.scrollIntoViewIfNeeded();
    // The buttons work only after a moment in view, and anything that moves starts it again.
    await page.locator('[data-dwell="ready"]').waitFor({ state: 'attached' });
    await page.waitForFunction(() => document.querySelector('[data-dwell] ~ * :disabled') === null);
    await page.evaluate(() => document.fonts.ready);
    await page.screenshot({ path: path.join(root, 'docs/images', file), animations: 'disabled' });
    console.log(`docs/images/${file}`);
  } finally {
    server.kill();
    await rm(home, { recursive: true, force: true });
  }
}

const browser = await chromium.launch({
  executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium',
  args: ['--no-sandbox', '--disable-gpu'],
});
try {
  for (const picture of PICTURES) await take(browser, picture);
} finally {
  await browser.close();
}
