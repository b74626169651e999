// Questions about the calls of a model that does as it is told, answered on the page of the real binary.

import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { answer, ask, card, finished, openPage, shows } from './browser';
import { type Outside, type Wanted, startModel, startOutside } from './outside';
import { type TestServer, startBinary } from './server';

const binary = process.env.HELVE_SERVER;

function wanted(text: string): Wanted[] {
  if (text.includes('send the mail')) return [{ name: 'send_mail', arguments: { to: 'mei@example.org' } }];
  if (text.includes('two notes'))
    return ['first', 'second'].map((note) => ({ name: 'save_note', arguments: { text: note } }));
  return [];
}

/** Takes a mail, and ends the connection before anybody hears of it. */
function startPost(): Promise<Outside> {
  return startOutside((request) => void request.on('end', () => request.socket.destroy()).resume());
}

describe.runIf(binary)('a person is asked', () => {
  let outsides: Outside[];
  let server: TestServer;

  beforeAll(async () => {
    const [model, post] = await Promise.all([startModel(wanted), startPost()]);
    outsides = [model, post];
    const config = `
      default_model = "scripted"
      [[models]]
      name = "scripted"
      protocol = "openai_chat"
      base_url = "http://${model.host}/v1"
      model = "m"
      tools = "native"
      probe = false
      [egress]
      allow = ["${post.host}"]`;
    server = await startBinary(binary ?? '', {}, config);
    const made = await fetch(`${server.url}/api/tools`, {
      method: 'POST',
      headers: { 'Content-Type': 'application/json' },
      body: JSON.stringify({
        name: 'send_mail',
        description: 'Sends a mail.',
        parameters: { type: 'object', properties: { to: { type: 'string' } } },
        endpoint: { url: `http://${post.host}/send`, method: 'POST' },
      }),
    });
    if (made.status !== 201) throw new Error(await made.text());
  });

  afterAll(() => Promise.all([server.close(), ...outsides.map((outside) => outside.close())]));

  test('what became of a call that the same person has just allowed', async () => {
    const page = await openPage('/', { at: server.url });
    await ask(page, 'send the mail');
    await page.getByRole('button', { name: 'Allow', exact: true }).click();
    await shows(card(page, /send_mail: Outcome unknown/));
    const asked = page.getByRole('group', { name: 'Did “send_mail” take effect?' });
    await asked.getByRole('button', { name: 'It took effect', exact: true }).click();
    await finished(page);
    await shows(answer(page).getByText('That was all.'));
  });

  test('nothing more once a call is always allowed, and what was open is answered with it', async () => {
    const page = await openPage('/', { at: server.url });
    const questions = page.getByRole('group', { name: 'Allow “Save a note”?' });
    await ask(page, 'two notes');
    await shows(questions.nth(1));
    await questions.first().getByRole('button', { name: 'Always allow…', exact: true }).click();
    await questions.first().getByRole('button', { name: 'Allow, and do not ask again', exact: true }).click();
    await finished(page);
    expect(await questions.count()).toBe(0);
    expect(await card(page, /note: Done/i).count()).toBe(2);
    await ask(page, 'two notes');
    await finished(page);
    expect(await card(page, /note: Done/i).count()).toBe(4);
  });
});
