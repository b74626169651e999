// States of the Chinese page that take some doing: what runs long, runs out, breaks off or is never answered.

import { readFileSync } from 'node:fs';
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { answer, ask, card, finished, openPage, press, shows } from './browser';
import { type OddWorld, startOddWorld } from './odd-world';
import { watchTexts } from './page-texts';

const more = (common: string) => `
  [[models]]
  name = "narrow"
  model = "n"
  context_tokens = 12_000
  ${common}
  [[agents]]
  name = "brief"
  max_steps = 1
  [[agents]]
  name = "strict"
  end_when_refused = true`;

let odd: OddWorld;
beforeAll(async () => {
  odd = await startOddWorld(more);
});
afterAll(() => odd.close());

const openChinese = () => openPage('/', { locale: 'zh-CN', at: odd.url });

/** Takes a model or an agent from the menu. */
async function choose(page: Page, name: RegExp): Promise<void> {
  await page.getByRole('button', { name: /^模型/ }).click();
  await page.getByRole('menuitemradio', { name }).click();
}

test('an agent whose steps are used up', async () => {
  const page = await openChinese();
  const { look, end } = watchTexts(page);
  await choose(page, /^brief/);
  await ask(page, '读发件箱');
  await finished(page);
  for (const _ of ['at once', 'after a reload']) {
    await shows(page.getByText('步数已用完，最后的回答没有使用工具。'));
    await look();
    await page.reload();
  }
  end();
});

test('agents that were made over HTTP, with and without Chinese texts', async () => {
  const page = await openChinese();
  const planner = {
    name: 'planner',
    display_name: 'Trip planner',
    description: 'Plans trips.',
    tools: ['time', 'ask_user'],
    example_questions: ['Three days in Kyoto?'],
    translations: {
      zh: { display_name: '旅行规划', description: '规划旅行。', example_questions: ['去京都三天怎么安排？'] },
    },
  };
  const clerk = { name: 'clerk', description: 'Tells the time.', example_questions: ['What time is it?'] };
  for (const data of [planner, clerk]) {
    const made = await page.request.post(`${odd.url}/api/agents`, { data });
    expect(made.status()).toBe(201);
  }
  await page.reload();
  // What the operator wrote in one language only is shown as it stands.
  const { look, end } = watchTexts(page, [clerk.name, clerk.description, ...clerk.example_questions]);
  await choose(page, /^旅行规划/);
  await shows(page.getByText('规划旅行。').filter({ visible: true }));
  await shows(page.getByText('去京都三天怎么安排？'));
  await look();
  await choose(page, /^clerk/);
  await shows(page.getByText('Tells the time.').filter({ visible: true }));
  await look();
  await page.getByRole('button', { name: /^模型/ }).click();
  await look();
  end();
  // Other journeys look at the menu of agents, too, and do not know these.
  for (const { name } of [planner, clerk]) {
    const gone = await page.request.delete(`${odd.url}/api/agents/${name}`);
    expect(gone.status()).toBe(204);
  }
});

test('a call that was required and not made', async () => {
  const page = await openChinese();
  const { look, end } = watchTexts(page);
  const request = { message: '你好', model: 'odd', tool_choice: 'required' };
  const started = await page.request.post(`${odd.url}/api/runs`, { data: request });
  const { conversation } = (await started.json()) as { conversation: string };
  await page.goto(`${odd.url}/c/${conversation}`);
  await finished(page);
  for (const _ of ['at once', 'after a reload']) {
    await shows(page.getByText('要求调用工具，但模型只用文字作了回答。'));
    await look();
    await page.reload();
  }
  end();
});

test('an agent that ends its runs where a call is refused', async () => {
  const page = await openChinese();
  const { look, end } = watchTexts(page);
  await choose(page, /^strict/);
  await ask(page, '发邮件给小梅');
  await press(page.getByRole('button', { name: '拒绝…' }));
  await press(page.getByRole('button', { name: '拒绝', exact: true }));
  await finished(page);
  for (const _ of ['at once', 'after a reload']) {
    await shows(page.getByText('有一次调用被拒绝，这个智能体的运行到此结束。'));
    await look();
    await page.reload();
  }
  end();
});

test('a conversation of which the model reads only a summary', async () => {
  const page = await openChinese();
  const { look, end } = watchTexts(page);
  await choose(page, /^narrow/);
  const shortened = page.getByText('对话已经很长：从这里起，最早的部分以摘要的形式提供给模型。');
  for (let asked = 0; asked < 6 && !(await shortened.isVisible()); asked += 1) {
    await ask(page, '茶叶要放在阴凉干燥的地方。'.repeat(150));
    await finished(page);
  }
  await shows(shortened);
  for (const _ of ['at once', 'after a reload']) {
    await shortened.click();
    await shows(page.getByText(/^没有删除任何内容/));
    await look();
    await page.reload();
    await finished(page);
  }
  end();
});

test('an earlier answer that stands in for a tool', async () => {
  const page = await openChinese();
  const { look, end } = watchTexts(page);
  for (const _ of ['well', 'ill']) {
    await ask(page, '读气压');
    await finished(page);
  }
  const late = card(page, /barometer: 完成/).last();
  await shows(late.getByText('先前的结果'));
  await late.getByRole('button').first().click();
  await shows(late.getByText('各环节的决定'));
  await look();
  end();
});

test('files and pictures that a tool has made', async () => {
  const page = await openChinese();
  const { look, end } = watchTexts(page, ['report.pdf', 'dot.png']);
  await ask(page, '取文件');
  await finished(page);
  await shows(card(page, /dot: 完成/).getByRole('img', { name: 'dot.png' }));
  await shows(card(page, /report: 完成/).getByRole('button', { name: /report\.pdf/ }));
  await look();
  // A file that is gone is said to be gone.
  await page.route('**/api/runs/*/files/*', (route) => route.fulfill({ status: 404, json: { code: 'not_found' } }));
  await page.getByRole('button', { name: '保存 report.pdf' }).click();
  await shows(page.getByRole('alert').filter({ hasText: /\p{Script=Han}/u }));
  await look();
  end();
});

test('a message that breaks off when a call of it was sent already', async () => {
  const page = await openChinese();
  const { look, end } = watchTexts(page);
  await ask(page, '提前看一眼');
  await shows(card(page, /glance/));
  await look();
  await finished(page);
  await shows(answer(page).getByText('That was all.'));
  await look();
  // Of the attempt that broke off nothing is left, and no card waits for ever.
  expect(await card(page, /glance/).count()).toBe(0);
  end();
  const runs = (await (await fetch(`${odd.url}/api/runs`)).json()) as { runs: { run: string }[] };
  const log = await (await fetch(`${odd.url}/api/runs/${runs.runs[0]?.run}/events`)).text();
  expect(log).toContain('"tool.discarded"');
});

interface Transcript {
  events: { id: number; data: object }[];
  message: { id: string };
}

/** The log of a run whose question nobody answered for a week, as the server's own tests have recorded it. */
const EXPIRED = new URL('../../fixtures/transcripts/expired.json', import.meta.url);

test('a question that nobody answered in time', async () => {
  const page = await openChinese();
  // The tool and the model of the log.
  const { look, end } = watchTexts(page, ['send', 'scripted']);
  const { events, message } = JSON.parse(readFileSync(EXPIRED, 'utf8')) as Transcript;
  const body = events.map(({ id, data }) => `id: ${id}\ndata: ${JSON.stringify(data)}\n\n`).join('');
  await page.route('**/events', (route) => route.fulfill({ contentType: 'text/event-stream', body }));
  await ask(page, '你好');
  await finished(page);
  const expired = card(page, /send: 未及时答复/);
  await shows(expired.getByText('没有人及时答复'));
  await expired.getByRole('button').first().click();
  await look();
  await page.route('**/messages', (route) => route.fulfill({ json: { messages: [message] } }));
  await page.reload();
  await shows(card(page, /send: 未及时答复/));
  await look();
  end();
});
