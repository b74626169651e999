import { type Server, createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Frame, Page } from 'playwright-core';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { answer, ask, complaints, finished, openPage, shows } from './browser';

// Somebody who would be glad of a visit. Nothing that runs in the sandbox may ever come here.
let canary: Server;
let canaryUrl = '';
let visits = 0;

beforeAll(async () => {
  canary = createServer((_, response) => {
    visits += 1;
    response.setHeader('Access-Control-Allow-Origin', '*');
    response.end('hello');
  });
  canary.on('upgrade', (_, socket) => {
    visits += 1;
    socket.destroy();
  });
  await new Promise<void>((resolve) => canary.listen(0, '127.0.0.1', resolve));
  canaryUrl = `http://127.0.0.1:${(canary.address() as AddressInfo).port}`;
});
beforeEach(() => {
  visits = 0;
});
afterAll(() => canary.close());

/** Has the model propose the code, runs it by its button, and reads what the model was told. */
async function run(page: Page, code: string): Promise<string> {
  await ask(page, `run \`${code}\` in my browser`);
  await page.getByRole('button', { name: 'Run', exact: true }).click();
  await finished(page);
  return told(page);
}

/** What the model makes of the result, without what it said before. */
async function told(page: Page): Promise<string> {
  const lines = answer(page).locator('pre, p').filter({ hasNotText: 'Look at it' });
  return (await lines.allInnerTexts()).join('\n');
}

describe('code', () => {
  const CASES: [what: string, code: string, expected: RegExp][] = [
    ['an expression', '6 * 7', /^42$/m],
    ['an object', '({a: 1, b: [true, null]})', /\{"a":1,"b":\[true,null\]\}/],
    ['statements', 'let a = 1; for (const b of [2, 3]) a += b; a', /^6$/m],
    ['a promise', 'new Promise((done) => setTimeout(() => done("late"), 50))', /late/],
    ['await and return', 'const a = await Promise.resolve(20); return a + 1', /^21$/m],
    ['nothing', 'undefined', /^null$/m],
    [
      'what JSON cannot say',
      '[10n, NaN, () => 1, new Set([1]), new Map([[1, 2]]), /x/, Symbol("s")]',
      /\["10n","NaN","\[Function\]",\[1\],\[\[1,2\]\],"\/x\/","Symbol\(s\)"\]/,
    ],
    ['a circle', 'const a = {}; a.self = a; a', /\{"self":"\[Circular\]"\}/],
    ['what it says on the console', 'console.log("hi", {a: 1}); 5', /^(?=.*"value":5)(?=.*"console":\["hi \{)/m],
    ['an error', 'null.x', /TypeError: Cannot read properties of null/],
    ['a syntax error', 'let let = 1', /SyntaxError/],
    [
      'a syntax error at run time, once',
      'self.n = (self.n || 0) + 1; JSON.parse("{" + self.n)',
      /SyntaxError.*(?:position 1|at line 1)/,
    ],
    ['too much', '"x".repeat(300000)', /more than 262144/],
  ];

  test.each(CASES)('gives %s', async (_, code, expected) => {
    expect(await run(await openPage(), code)).toMatch(expected);
  });

  test('that never ends is stopped, and the page does not notice', async () => {
    const page = await openPage();
    await ask(page, 'run `for(;;);` in my browser');
    await page.getByRole('button', { name: 'Run', exact: true }).click();
    await shows(page.getByText('Running…'));
    // The page answers while the worker spins.
    expect(await page.evaluate(() => 1 + 1)).toBe(2);
    await finished(page);
    await shows(
      answer(page)
        .getByText(/longer than 5 seconds and was stopped/)
        .last(),
    );
    expect(page.frames()).toHaveLength(1);
  });

  test('that eats memory is stopped, and the page lives', async () => {
    const page = await openPage();
    await run(page, 'const all = []; for (;;) all.push(new Float64Array(4e6).fill(1))');
    expect(await page.evaluate(() => document.title)).toContain('Helve');
    expect(page.frames()).toHaveLength(1);
  });
});

test('code reaches nothing: no page, no storage, no network', async () => {
  const page = await openPage();
  await page.evaluate(() => {
    document.cookie = 'secret=1';
    localStorage.setItem('secret', '1');
  });
  const attempts: Record<string, string> = {
    cookie: 'document.cookie',
    storage: 'localStorage.getItem("secret")',
    parent: 'parent.document.title',
    window: 'window.top.location.href',
    fetch: `fetch("${canaryUrl}/fetch").then((r) => r.status)`,
    noCors: `fetch("${canaryUrl}/nocors", {mode: "no-cors"}).then((r) => r.type)`,
    home: `fetch("${new URL(page.url()).origin}/api/session").then((r) => r.status)`,
    xhr: `new Promise((y, n) => { const x = new XMLHttpRequest(); x.onload = y; x.onerror = () => n(Error("xhr")); x.open("GET", "${canaryUrl}/xhr"); x.send(); })`,
    socket: `new Promise((y, n) => { const s = new WebSocket("${canaryUrl.replace('http', 'ws')}/ws"); s.onopen = y; s.onerror = () => n(Error("ws")); })`,
    events: `new Promise((y, n) => { const s = new EventSource("${canaryUrl}/es"); s.onopen = y; s.onerror = () => n(Error("es")); })`,
    script: `importScripts("${canaryUrl}/x.js")`,
    module: `import("${canaryUrl}/x.mjs")`,
    image: `new Image().src = "${canaryUrl}/img"`,
    beacon: `navigator.sendBeacon("${canaryUrl}/beacon")`,
    peer: 'new RTCPeerConnection()',
    popup: `open("${canaryUrl}/open")`,
    database:
      'new Promise((y, n) => { const r = indexedDB.open("x"); r.onsuccess = y; r.onerror = () => n(Error("db")); })',
    caches: 'caches.open("x")',
    channel:
      'new Promise((y, n) => { const c = new BroadcastChannel("x"); c.onmessage = y; setTimeout(() => n(Error("alone")), 200); })',
    nested: `new Promise((y, n) => { const w = new Worker(URL.createObjectURL(new Blob(["fetch('${canaryUrl}/nested').then(() => postMessage(1), () => postMessage(0))"]))); w.onmessage = (e) => e.data ? y() : n(Error("nested")); w.onerror = () => n(Error("worker")); })`,
  };
  const tries = Object.entries(attempts).map(([name, code]) => `${name}: async () => (${code})`);
  const code = `const tries = {${tries.join(', ')}}; const done = {}; for (const [name, attempt] of Object.entries(tries)) { try { await attempt(); done[name] = "REACHED"; } catch { done[name] = "refused"; } } return done;`;
  const report = await run(page, code);
  const refused = Object.fromEntries(Object.keys(attempts).map((name) => [name, 'refused']));
  expect(JSON.parse(/\{.*\}/.exec(report)?.[0] ?? '{}')).toEqual(refused);
  expect(visits).toBe(0);
});

test('even the frame around the code reaches nothing', async () => {
  const page = await openPage();
  await ask(page, 'run `new Promise(() => {})` in my browser');
  await page.getByRole('button', { name: 'Run', exact: true }).click();
  const frame = await sandboxOf(page);
  const before = page.url();
  const results = await frame.evaluate(async (target) => {
    const loaded = (element: HTMLElement) =>
      new Promise((resolve, reject) => {
        element.addEventListener('load', resolve);
        element.addEventListener('error', reject);
      });
    const attempts: Record<string, () => unknown> = {
      cookie: () => document.cookie,
      storage: () => localStorage.length,
      parent: () => parent.document.title,
      top: () => {
        (top as Window).location.href = target;
      },
      popup: () => {
        if (window.open(target) === null) throw new Error('no window');
      },
      fetch: () => fetch(target),
      image: () => loaded(Object.assign(new Image(), { src: `${target}/x.png` })),
      style: () => {
        const link = Object.assign(document.createElement('link'), { rel: 'stylesheet', href: `${target}/x.css` });
        document.head.append(link);
        return loaded(link);
      },
      // A refused frame shows an error page of the browser's, so only the canary can tell.
      frame: async () => {
        document.documentElement.append(Object.assign(document.createElement('iframe'), { src: target }));
        await new Promise((_, reject) => setTimeout(reject, 300));
      },
    };
    const done: Record<string, string> = {};
    for (const [name, attempt] of Object.entries(attempts)) {
      try {
        await attempt();
        done[name] = 'REACHED';
      } catch {
        done[name] = 'refused';
      }
    }
    return { done, origin: self.origin };
  }, canaryUrl);
  expect(results.origin).toBe('null');
  for (const [name, result] of Object.entries(results.done)) expect(`${name} ${result}`).toBe(`${name} refused`);
  expect(visits).toBe(0);
  expect(page.url()).toBe(before);
  // The browser has told each refusal.
  expect(complaints.splice(0).join('\n')).toMatch(/allow-top-navigation[\s\S]*allow-popups[\s\S]*connect-src 'none'/);
  await finished(page);
});

test('an answer from elsewhere, or with another nonce, is not heard', async () => {
  const page = await openPage();
  await ask(page, 'run `new Promise((done) => setTimeout(() => done("real"), 1000))` in my browser');
  await page.getByRole('button', { name: 'Run', exact: true }).click();
  const frame = await sandboxOf(page);
  await page.evaluate(() => window.postMessage({ nonce: '', json: '"forged"', lines: [] }, '*'));
  await frame.evaluate(() => parent.postMessage({ nonce: 'guess', json: '"forged"', lines: [] }, '*'));
  await finished(page);
  expect(await told(page)).toMatch(/^"?real"?$/m);
});

async function sandboxOf(page: Page): Promise<Frame> {
  await expect.poll(() => page.frames().some((frame) => frame.url().endsWith('/sandbox.html'))).toBe(true);
  const frame = page.frames().find((found) => found.url().endsWith('/sandbox.html'));
  if (!frame) throw new Error('there is no sandbox');
  return frame;
}
