// A run that is answered for by a person, at the page and in the terminal, over the death of the server.

import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import type { Locator, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { answer, ask, card, finished, openPage, shows } from './browser';
import { type ScriptedServer, startOutside, startScriptedServer } from './outside';
import { binary } from './server';

interface Payment {
  to: string;
  amount: number;
}

describe('three payments at once', () => {
  /** What really happened, outside of everything that Helve says. */
  const ledger: Payment[] = [];
  let server: ScriptedServer;

  beforeAll(async () => {
    const pay = (to: string, amount: number) => ({ name: 'pay', arguments: { to, amount } });
    const bank = await startOutside((request, response) => {
      let body = '';
      request.on('data', (piece: Buffer) => (body += piece.toString()));
      request.on('end', () => {
        ledger.push(JSON.parse(body) as Payment);
        response.writeHead(200, { 'Content-Type': 'application/json' }).end('{"paid": true}');
      });
    });
    server = await startScriptedServer(bank, (text) =>
      text.includes('pay everybody') ? [pay('ann', 100), pay('bob', 200), pay('eve', 300)] : [],
    );
    await server.addTool({
      name: 'pay',
      description: 'Pays somebody.',
      endpoint: { url: `http://${bank.host}/payments`, method: 'POST' },
      parameters: {
        type: 'object',
        properties: { to: { type: 'string' }, amount: { type: 'number' } },
        required: ['to', 'amount'],
      },
    });
  });

  afterAll(() => server.close());

  /** The terminal of the same person, on the same machine. */
  async function helve(...words: string[]): Promise<string> {
    const env = { ...process.env, HELVE_SERVER: server.url };
    return (await promisify(execFile)(binary, words, { env })).stdout;
  }

  test('are edited, refused and approved in the terminal, and exactly two are made', async () => {
    const page = await openPage('/', { at: server.url });
    await ask(page, 'please pay everybody');
    await expect.poll(() => questions(page).count()).toBe(3);

    const ann = question(page, 'ann');
    await press(ann, 'Edit & allow…');
    await ann.getByRole('textbox', { name: /Arguments to send/ }).fill('{"to": "ann", "amount": 10}');
    await press(ann, 'Allow as edited');
    await shows(card(page, /pay: Done/));
    const bob = question(page, 'bob');
    await press(bob, 'Reject…');
    await bob.getByRole('textbox', { name: /Reason/ }).fill('bob was paid last week');
    await press(bob, 'Reject');
    await shows(card(page, /pay: Refused/));
    expect(ledger).toEqual([{ to: 'ann', amount: 10 }]);

    await server.restart(500);
    await shows(question(page, 'eve'));
    expect(await questions(page).count()).toBe(1);

    const listed = JSON.parse(await helve('approvals', 'list', '--json')) as { approval: string; arguments: string }[];
    expect(listed.map((open) => JSON.parse(open.arguments) as Payment)).toEqual([{ to: 'eve', amount: 300 }]);
    await helve('approvals', 'answer', listed[0]?.approval ?? '', 'approve');

    await finished(page);
    await shows(answer(page).getByText('That was all.'));
    expect(await card(page, /pay: Done/).count()).toBe(2);
    await shows(page.getByText(/bob was paid last week/));
    // Exactly two effects, whatever was shown: what was edited as it was edited, and nothing twice.
    expect(ledger).toEqual([
      { to: 'ann', amount: 10 },
      { to: 'eve', amount: 300 },
    ]);
  });
});

function questions(page: Page): Locator {
  return page.getByRole('group', { name: 'Allow “pay”?' });
}

function question(page: Page, to: string): Locator {
  return questions(page).filter({ has: page.getByRole('definition').getByText(to, { exact: true }) });
}

/** Nothing can be decided that was not on the screen for a moment. */
async function press(within: Locator, name: string): Promise<void> {
  const button = within.getByRole('button', { name, exact: true });
  await button.scrollIntoViewIfNeeded();
  await button.click();
}
