import { readFile } from 'node:fs/promises';
import { crc32, deflateSync } from 'node:zlib';
import type { Locator, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { answer, ask, card, finished, openPage, shows } from './browser';
import { type ScriptedServer, startOutside, startScriptedServer } from './outside';

const REPORT = '%PDF-1.4 a report\n';
/** Longer than what a model reads, and than what a person takes in at once. */
const LINES = Array.from({ length: 6000 }, (_, n) => `line ${n + 1} of the long story`).join('\n');

/** What a tool calls: everything is well until the service is told to be ill. */
function service(ill: () => boolean) {
  return startOutside((request, response) => {
    const translate = (status: number, type: string, body: string | Buffer) =>
      response.writeHead(status, { 'Content-Type': type }).end(body);
    switch (request.url) {
      case '/chart.png':
        return translate(200, 'image/png', picture(480, 240));
      case '/report.pdf':
        return translate(200, 'application/pdf', REPORT);
      case '/story':
        return translate(200, 'text/plain', LINES);
      default:
        return ill()
          ? translate(500, 'application/json', '{"error": "the barometer fell down"}')
          : translate(200, 'text/plain', '7 °C');
    }
  });
}

describe('a tool of one’s own', () => {
  let isIll = false;
  let server: ScriptedServer;

  beforeAll(async () => {
    const place = await service(() => isIll);
    server = await startScriptedServer(place);
    const add = (name: string, path: string, more: object = {}) =>
      server.addTool({ name, description: `The ${name}.`, endpoint: { url: `http://${place.host}/${path}` }, ...more });
    await add('chart', 'chart.png');
    await add('report', 'report.pdf');
    await add('story', 'story');
    await add('barometer', 'pressure', { attempts: 1, fallback: { last_good_ms: 3_600_000 } });
    await add('thermometer', 'degrees', { attempts: 1 });
  });

  afterAll(() => server.close());

  /** Somebody asks for it, and it is over. */
  async function called(name: string, locale = 'en-US'): Promise<Page> {
    const page = await openPage('/', { at: server.url, locale });
    await ask(page, `call ${name} for me`);
    await finished(page);
    await shows(answer(page).getByText('That was all.'));
    return page;
  }

  test('shows the picture that it made, and saves it', async () => {
    const page = await called('chart');
    const drawn = card(page, /chart: Done/).getByRole('img', { name: 'chart.png' });
    await shows(drawn);
    expect(await widthOf(drawn)).toBe(480);
    expect(await saved(page, 'Save chart.png')).toEqual(picture(480, 240));
    // It is kept, like everything that was said.
    await page.reload();
    await shows(drawn);
    expect(await widthOf(drawn)).toBe(480);
  });

  test('gives a file to be saved', async () => {
    const page = await called('report');
    expect((await saved(page, 'Save report.pdf')).toString()).toBe(REPORT);
    expect(
      await card(page, /report: Done/)
        .getByRole('img')
        .count(),
    ).toBe(0);
  });

  test('lets a person read all of an output that was cut for the model', async () => {
    const page = await called('story');
    await card(page, /story: Done/)
      .getByRole('button')
      .first()
      .click();
    await shows(page.getByText(/Cut for the model: 4\d(\.\d)? [kK]i?B of/));
    await page.getByRole('button', { name: 'Show the whole output' }).click();
    const whole = page.getByRole('group', { name: 'The whole output' });
    await shows(whole.getByText('line 1 of the long story'));
    await expect
      .poll(async () => (await readOn(page), page.getByRole('button', { name: /Show more/ }).count()))
      .toBe(0);
    expect(await whole.innerText()).toContain('line 6000 of the long story');
  });

  test('says when an earlier answer stands in for it', async () => {
    const before = await called('barometer');
    expect(
      await card(before, /barometer: Done/)
        .getByText('earlier answer')
        .count(),
    ).toBe(0);
    isIll = true;
    const page = await called('barometer');
    await shows(card(page, /barometer: Done/).getByText('earlier answer'));
    const chinese = await called('barometer', 'zh-CN');
    await shows(card(chinese, /barometer: 完成/).getByText('先前的结果'));
  });

  test('says what went wrong', async () => {
    isIll = true;
    const page = await called('thermometer');
    const failedHere = card(page, /thermometer: Failed/);
    await shows(failedHere.getByText(/^127\.0\.0\.1 answered with status 500\.$/));
    await failedHere.getByText('What the model was told').click();
    await shows(failedHere.getByText(/failed \(500\): the barometer fell down/));
    const chinese = await called('thermometer', 'zh-CN');
    const failed = card(chinese, /thermometer: 失败/);
    await shows(failed.getByText('127.0.0.1 返回了状态码 500。'));
    // The tool's own words are one click away.
    await failed.getByText('模型读到的原文').click();
    await shows(failed.getByText(/the barometer fell down/));
  });
});

function widthOf(shown: Locator): Promise<number> {
  return shown.evaluate((image: HTMLImageElement) => image.decode().then(() => image.naturalWidth));
}

async function saved(page: Page, name: string): Promise<Buffer> {
  const [download] = await Promise.all([page.waitForEvent('download'), page.getByRole('button', { name }).click()]);
  return readFile(await download.path());
}

async function readOn(page: Page): Promise<void> {
  const more = page.getByRole('button', { name: /Show more/ });
  if (await more.count()) await more.click();
}

/** A PNG with stripes. */
function picture(width: number, height: number): Buffer {
  const row = (y: number) =>
    Buffer.from([0, ...Array.from({ length: width }, (_, x) => (((x >> 5) + (y >> 5)) % 2 ? 90 : 200))]);
  const pixels = deflateSync(Buffer.concat(Array.from({ length: height }, (_, y) => row(y))));
  const head = Buffer.alloc(13);
  head.writeUInt32BE(width, 0);
  head.writeUInt32BE(height, 4);
  head.set([8, 0, 0, 0, 0], 8);
  return Buffer.concat([
    Buffer.from([0x89, 0x50, 0x4e, 0x47, 13, 10, 26, 10]),
    chunk('IHDR', head),
    chunk('IDAT', pixels),
    chunk('IEND', Buffer.alloc(0)),
  ]);
}

function chunk(type: string, data: Buffer): Buffer {
  const named = Buffer.concat([Buffer.from(type), data]);
  const length = Buffer.alloc(4);
  length.writeUInt32BE(data.length);
  const sum = Buffer.alloc(4);
  sum.writeUInt32BE(crc32(named));
  return Buffer.concat([length, named, sum]);
}
