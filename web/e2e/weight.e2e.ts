// How much the page costs before the first message can be written.

import { gzipSync } from 'node:zlib';
import { describe, expect, test } from 'vitest';
import { openPage, shows, url } from './browser';

describe.each(['en-US', 'zh-CN'])('in %s', (locale) => {
  test('a new conversation takes less than 200 kB', async () => {
    const page = await openPage('/', { locale });
    // What comes later comes while nothing else is to be done.
    await page.addInitScript(() => {
      const look = () => {
        if (document.querySelector('textarea') === null) return;
        observer.disconnect();
        document.documentElement.dataset.readyAt = String(performance.now());
      };
      const observer = new MutationObserver(look);
      observer.observe(document, { childList: true, subtree: true });
    });
    await page.reload();
    await shows(page.getByRole('textbox', { name: /Message|消息/ }));
    const files = await page.evaluate(() => {
      const readyAt = Number(document.documentElement.dataset.readyAt);
      const loaded = performance.getEntriesByType('resource').filter(({ startTime }) => startTime <= readyAt);
      return [location.href, ...loaded.map(({ name }) => name)].filter((name) => !name.includes('/api/'));
    });
    const sizes = await Promise.all(files.map(async (file) => gzipSync(await read(file), { level: 9 }).length));
    const bytes = sizes.reduce((sum, size) => sum + size, 0);
    expect(bytes, files.join('\n')).toBeLessThan(200_000);
    expect(bytes).toBeGreaterThan(50_000);
  });
});

test('files come as small as the browser takes them, and those with a hash in their name for ever', async () => {
  const html = await (await fetch(url)).text();
  const script = /src="(\/assets\/[^"]+\.js)"/.exec(html)?.[1] ?? '';
  const sent = async (encoding: string) => {
    const answer = await fetch(url + script, { headers: { 'Accept-Encoding': encoding } });
    const { headers } = answer;
    expect(headers.get('vary')).toContain('accept-encoding');
    expect(headers.get('cache-control')).toBe('public, max-age=31536000, immutable');
    return {
      as: headers.get('content-encoding'),
      bytes: Number(headers.get('content-length')),
      tag: headers.get('etag'),
    };
  };
  const [plain, gzip, brotli] = [await sent('identity'), await sent('gzip'), await sent('gzip, br')];
  expect([plain.as, gzip.as, brotli.as]).toEqual([null, 'gzip', 'br']);
  expect(gzip.bytes).toBeLessThan(plain.bytes / 2.5);
  expect(brotli.bytes).toBeLessThan(gzip.bytes);
  expect(new Set([plain.tag, gzip.tag, brotli.tag]).size).toBe(3);
  expect((await fetch(`${url}${script}.br`)).status).toBe(404);
});

async function read(file: string): Promise<Uint8Array> {
  return new Uint8Array(await (await fetch(file)).arrayBuffer());
}
