// On the Chinese page nothing is in English but names, code, and what a model, a tool or a person wrote: all of its
// states are walked through, and every text in them is looked at.

import { readFileSync } from 'node:fs';
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { zh } from '@/lib/i18n/zh';
import { answer, ask, card, finished, openAgain, openPage, press, shows } from './browser';
import { ADDED, WORDS, type OddWorld, startOddWorld } from './odd-world';
import { watchTexts } from './page-texts';
import { startServer } from './server';
import toolWords from '@/lib/i18n/tool-words/zh.json';

let odd: OddWorld;
beforeAll(async () => {
  odd = await startOddWorld();
});
afterAll(() => odd.close());

const openChinese = (at?: string) => openPage('/', { locale: 'zh-CN', ...(at && { at }) });

const button = (page: Page, name: string) => page.getByRole('button', { name, exact: true });

/** Opens all that is folded in the latest card, so that it is looked at too. */
async function openCard(page: Page, name: RegExp): Promise<void> {
  await card(page, name).last().getByRole('button').first().click();
}

test('the empty page, its menus and its dialogs', async () => {
  const page = await openChinese(odd.url);
  const { look, end } = watchTexts(page);
  await shows(page.getByRole('heading', { name: '今天想做点什么？' }));
  await look();
  await page.getByRole('button', { name: /^模型/ }).click();
  const menu = page.getByRole('menu', { name: '模型' });
  await shows(menu.getByText('不可用：127.0.0.1:9 没有响应。请启动那里的模型服务，或者修改地址。'));
  await shows(menu.getByText('不可用：请设置环境变量 ARK_API_KEY，然后重新启动 Helve。'));
  await look();
  await page.keyboard.press('Escape');
  await press(button(page, '设置'));
  await shows(page.getByRole('menuitem', { name: '无需询问的调用' }));
  await look();
  await page.getByRole('menuitem', { name: '无需询问的调用' }).click();
  await shows(page.getByText(/^除规则允许的以外/));
  await look();
  await page.keyboard.press('Escape');
  await ask(page, '你好');
  await finished(page);
  await answer(page).getByRole('button', { name: /词元/ }).click();
  await shows(answer(page).getByRole('table'));
  await look();
  const list = page.getByRole('navigation', { name: '对话' });
  for (const item of ['重命名', '删除']) {
    await list.getByRole('button', { name: /的操作$/ }).click();
    await look();
    await page.getByRole('menuitem', { name: item }).click();
    await shows(page.getByRole('dialog'));
    await look();
    await page.getByRole('dialog').getByRole('button', { name: '取消' }).click();
  }
  await page.goto(`${odd.url}/c/0190163d-8694-739b-aea5-966c26f8ad91`);
  await shows(page.getByText('这个对话不存在，或者不属于你。'));
  await look();
  end();
});

test('a model that cannot be asked, and a message that cannot be sent', async () => {
  const page = await openChinese(odd.url);
  const { look, end } = watchTexts(page);
  await page.getByRole('button', { name: /^模型/ }).click();
  await page.getByRole('menuitemradio', { name: /^down/ }).click();
  await page.getByRole('button', { name: /^模型/ }).click();
  await page.getByRole('menuitem', { name: /^检测 down/ }).click();
  await page.getByRole('button', { name: /^模型/ }).click();
  await shows(page.getByText('模型服务器无法连接，或暂时无法响应。'));
  await look();
  await page.keyboard.press('Escape');
  await ask(page, '你好');
  await finished(page);
  await shows(answer(page).getByText('模型服务器无法连接，或暂时无法响应。'));
  await look();
  await ask(page, '长'.repeat(400_000));
  await shows(page.getByText('消息没有发出去。'));
  await shows(page.getByText(/^(?:内容|消息)太长。$/));
  await look();
  end();
});

test('a question, the ways to answer it, and how it was answered', async () => {
  const page = await openChinese(odd.url);
  const { look, end } = watchTexts(page, ['“text”']);
  await ask(page, '古怪的笔记');
  const question = page.getByRole('group', { name: '允许“保存笔记”吗？' });
  await shows(question.getByText('在服务器上保存一条笔记'));
  await shows(question.getByText(/会改变数据/));
  await shows(question.getByText('没有显示完。'));
  await question.getByText('将要发送的原文').click();
  await look();
  for (const form of ['始终允许…', '修改后允许…', '由我来答…', '拒绝…']) {
    await press(button(page, form));
    await look();
    await press(button(page, '取消'));
  }
  await press(button(page, '修改后允许…'));
  await page.getByRole('textbox', { name: /JSON/ }).fill('{"text": ');
  await shows(page.getByText(/不是合法的 JSON/));
  await look();
  await page.getByRole('textbox', { name: /JSON/ }).fill('{"wrong_name": 1}');
  await press(button(page, '按修改后的允许'));
  await shows(question.getByText('参数不符合工具的要求：不应包含：wrong_name；缺少“text”'));
  await look();
  await page.getByRole('textbox', { name: /JSON/ }).fill('{"text": "后天"}');
  await press(button(page, '按修改后的允许'));
  await finished(page);
  await shows(page.getByText('你修改后已允许'));
  await shows(card(page, /保存笔记: 完成/).getByText(/^已保存第 \d+ 条笔记$/));
  await openCard(page, /保存笔记: 完成/);
  await shows(page.getByText('各环节的决定'));
  await look();

  await ask(page, '两条笔记');
  await shows(question.nth(1));
  await page.getByRole('button', { name: '2 项等待批准' }).click();
  await shows(page.getByRole('dialog', { name: '等你处理' }));
  await look();
  await page.keyboard.press('Escape');
  await press(question.first().getByRole('button', { name: '由我来答…' }));
  await page.getByRole('textbox', { name: '作为结果告诉模型的内容' }).fill('已经记在本子上了');
  await press(button(page, '答复'));
  await shows(page.getByText('你已答复'));
  await press(question.getByRole('button', { name: '拒绝…' }));
  await press(button(page, '拒绝'));
  await finished(page);
  await shows(page.getByText('你已拒绝'));
  await shows(card(page, /保存笔记: 已拒绝/).getByText('这次调用被拒绝了。'));
  await look();

  await ask(page, '两条笔记');
  await shows(question.nth(1));
  await press(question.first().getByRole('button', { name: '始终允许…' }));
  await press(button(page, '允许，且不再询问'));
  await finished(page);
  await shows(page.getByText('你已允许，以后同类调用不再询问'));
  await openCard(page, /保存笔记: 完成/);
  await look();
  await press(button(page, '设置'));
  await page.getByRole('menuitem', { name: '无需询问的调用' }).click();
  await shows(page.getByRole('button', { name: '重新询问 save_note' }));
  await look();
  end();
});

test('tools that fail, are not there, answer from the cache, or run and are stopped', async () => {
  const page = await openChinese(odd.url);
  const { look, end } = watchTexts(page, ['“copies”', '“subject”']);
  await ask(page, '除以零');
  await finished(page);
  await shows(card(page, /计算器: 失败/).getByText('“1/0”无法计算：除数为零。'));
  await openCard(page, /计算器: 失败/);
  await ask(page, '搜索茶叶');
  await finished(page);
  await shows(card(page, /网页搜索: 失败/).getByText(/^这台服务器没有设置网页搜索/));
  await ask(page, '填错两个字段');
  await finished(page);
  const misfit = card(page, /send_mail: 已拒绝/);
  await shows(misfit.getByText(/^参数不符合工具的要求：.*“copies”不能大于 3/));
  await shows(misfit.getByText(/“subject”不能超过 20 个字符/));
  await ask(page, '用一个没有的工具');
  await finished(page);
  await shows(page.getByText('模型调用了“no_such_thing”，但没有这个工具。'));
  await look();
  for (const _ of ['第一次', '第二次']) {
    await ask(page, '读发件箱');
    await finished(page);
  }
  await shows(card(page, /outbox: 完成/).getByText('缓存', { exact: true }));
  await openCard(page, /outbox: 完成/);
  await look();
  await ask(page, '慢慢读一样东西');
  await shows(card(page, /slow_reading: 运行中…/));
  await look();
  await press(button(page, '停止'));
  await finished(page);
  await shows(page.getByText('你停止了这次回答。'));
  await look();
  end();
});

test('a call of which nobody knows what became, and data that could leave', async () => {
  const page = await openChinese(odd.url);
  const { look, end } = watchTexts(page);
  await ask(page, '发邮件给小梅');
  await press(button(page, '允许'));
  const asked = page.getByRole('group', { name: '“send_mail”生效了吗？' });
  await shows(asked);
  await shows(card(page, /send_mail: 结果未知/));
  await asked.getByText('已经发送的原文').click();
  await openCard(page, /send_mail: 结果未知/);
  await look();
  await press(button(page, '没有生效'));
  await finished(page);
  await shows(page.getByText('你确认没有生效'));
  await look();
  await ask(page, '读完再发');
  const leaking = page.getByRole('group', { name: '允许“send_mail”吗？' });
  await shows(leaking.getByText('私密数据可能外泄'));
  await shows(leaking.getByText(/^这次运行中有私密数据，来自/));
  await look();
  await press(leaking.getByRole('button', { name: '拒绝…' }));
  await press(button(page, '拒绝'));
  await finished(page);
  end();
});

const SLOW_CODE = 'new Promise((done) => setTimeout(() => done(42), 3000))';

test('code for the browser, in this window and in another', async () => {
  const page = await openChinese();
  const { look, end } = watchTexts(page, [SLOW_CODE]);
  await ask(page, `在浏览器里运行 \`${SLOW_CODE}\``);
  await shows(card(page, /浏览器里的 JavaScript: 等你运行/));
  await look();
  const second = await openAgain(page);
  const other = watchTexts(second, [SLOW_CODE]);
  await press(button(page, '运行'));
  await look();
  await shows(second.getByText('另一个窗口正在运行这次调用。'));
  await other.look();
  await finished(page);
  await openCard(page, /浏览器里的 JavaScript: 完成/);
  await look();
  await ask(page, '在浏览器里运行 `6 * 7`');
  await press(button(page, '不运行'));
  await finished(page);
  await shows(card(page, /浏览器里的 JavaScript: 失败/));
  await look();
  end();
  other.end();
});

test('an answer that is written, added to, stopped or broken off', async () => {
  const page = await openChinese(odd.url);
  const { look, end } = watchTexts(page);
  await ask(page, '慢慢说');
  await shows(answer(page).getByText(WORDS[3] ?? ''));
  await look();
  await page.getByRole('textbox', { name: '消息' }).fill('快一点');
  await press(button(page, '立即发送'));
  await shows(page.getByText('下一步就会读到'));
  await look();
  await press(button(page, '停止'));
  await finished(page);
  await shows(page.getByText('你停止了这次回答。'));
  await look();
  await ask(page, '说到一半中断');
  await finished(page);
  for (const _ of ['at once', 'after a reload']) {
    await shows(page.getByText('回答到这里中断了。'));
    await shows(page.getByText('模型的回答中途断开了。'));
    await look();
    await page.reload();
  }
  end();
});

test('a model that repeats itself', async () => {
  const page = await openChinese(odd.url);
  const { look, end } = watchTexts(page);
  await ask(page, '一直重复');
  const question = page.getByRole('group', { name: '允许“时间”吗？' });
  await shows(question.getByText(/^“time”已用同样的参数连续调用 \d+ 次。/));
  await look();
  await press(question.getByRole('button', { name: '拒绝…' }));
  await press(button(page, '拒绝'));
  await finished(page);
  await look();
  end();
});

test('a budget that is nearly used, and one that is used up', async () => {
  const server = await startServer({ config: '[budgets.run]\ntokens = 1_000\nask_at = 0.01\n' });
  onTestFinished(() => server.close());
  const page = await openChinese(server.url);
  const { look, end } = watchTexts(page);
  await ask(page, '记住：明天九点开会');
  await shows(page.getByText(/^这次运行的预算快用完了：已用 [\d,]+ 词元，上限 1,000 词元。$/));
  await look();
  await press(button(page, '到此为止'));
  await finished(page);
  for (const _ of ['at once', 'after a reload']) {
    await shows(page.getByText(/^没有人同意继续使用这次运行的预算/));
    await look();
    await page.reload();
  }
  end();
});

test('signing in, and a server that is gone', async () => {
  const server = await startServer({ token: 'open-sesame-and-close' });
  let isClosed = false;
  onTestFinished(() => (isClosed ? undefined : server.close()));
  const page = await openChinese(server.url);
  const { look, end } = watchTexts(page);
  await page.getByRole('textbox', { name: '访问令牌' }).fill('wrong-token-of-nobody');
  await press(button(page, '登录'));
  await shows(page.getByText('令牌无效。'));
  await look();
  await page.getByRole('textbox', { name: '访问令牌' }).fill('open-sesame-and-close');
  await press(button(page, '登录'));
  await shows(page.getByRole('heading', { name: '今天想做点什么？' }));
  await press(button(page, '设置'));
  await look();
  await page.keyboard.press('Escape');
  await server.close();
  isClosed = true;
  await ask(page, '你好');
  await shows(page.getByText('Helve 没有响应。'));
  await look();
  end();
});

test('the page of a signed link, while it can be answered and after', async () => {
  const page = await openChinese(odd.url);
  await ask(page, 'cut off the mail');
  await shows(page.getByRole('group', { name: '允许“send_mail”吗？' }));
  await expect.poll(() => odd.links.length).toBeGreaterThan(0);
  const link = odd.links.at(-1) ?? '';
  const signed = await openPage(new URL(link).pathname + new URL(link).search, { locale: 'zh-CN', at: odd.url });
  const { look, end } = watchTexts(signed, ['mei@example.org', 'Nine o’clock']);
  await shows(signed.getByRole('heading', { name: '允许这次调用吗？' }));
  await look();
  await signed.getByRole('button', { name: '允许这一次' }).click();
  await signed.getByRole('button', { name: '允许这一次' }).waitFor({ state: 'detached' });
  await look();
  await signed.goto(`${odd.url}${new URL(link).pathname}?until=1&mark=wrong`);
  await look();
  end();
  await shows(page.getByRole('group', { name: '“send_mail”生效了吗？' }));
  await press(button(page, '没有生效'));
  await finished(page);
});

describe('what comes with Helve', () => {
  test('has a title, a deed and names of its arguments in Chinese', async () => {
    const { tools } = (await (await fetch(`${odd.url}/api/tools`)).json()) as {
      tools: { name: string; parameters?: { properties?: object } }[];
    };
    const ours = tools.filter(({ name }) => !ADDED.has(name));
    const { deeds, fields }: Record<'deeds' | 'fields', Record<string, string>> = toolWords;
    expect(ours.length).toBeGreaterThan(3);
    for (const { name, parameters } of ours) {
      expect(zh.tools.names[name], name).toMatch(/\p{Script=Han}/u);
      expect(deeds[name], name).toMatch(/\p{Script=Han}/u);
      for (const argument of Object.keys(parameters?.properties ?? {}))
        expect(fields[argument], `${name}.${argument}`).toMatch(/\p{Script=Han}|SQL/u);
    }
  });
});

const CODES = JSON.parse(readFileSync(new URL('../../fixtures/codes.json', import.meta.url), 'utf8')) as Record<
  string,
  { params: string[]; zh: string }
>;

/** Whether its sentence says more than its parameters do. */
function hasWords(code: string): boolean {
  return /\p{Script=Han}/u.test(CODES[code]?.zh ?? '');
}

/** A value for each parameter of a code, as the server sends it. */
function paramsOf(code: string): Record<string, unknown> {
  const nested: Record<string, unknown> = {
    account: { code: 'budget_of_run' },
    because: { code: 'asks_for_change' },
    problem: { code: 'misfit_type', params: { types_any: [{ code: 'type_string' }, { code: 'type_null' }] } },
    why: { code: 'tool_switched_off', params: { tool: 'tool_1' } },
    reason: { code: 'asks_for_change' },
  };
  const amount = { code: 'amount_tokens', params: { count: 900 } };
  return Object.fromEntries(
    (CODES[code]?.params ?? []).map((name) => {
      if (name === 'problems') return [name, [{ code: 'misfit_missing', params: { field: 'field_1' } }]];
      if (name === 'types_any') return [name, [{ code: 'type_integer' }]];
      if (code.startsWith('budget') && (name === 'used' || name === 'limit')) return [name, amount];
      if (nested[name] !== undefined) return [name, nested[name]];
      return [name, /^(?:count|status|limit|max|unit|start|end)$|_(?:ms|at|bytes)$/.test(name) ? 90_000 : `${name}_1`];
    }),
  );
}

test.each([
  { locale: 'zh-CN', label: /^模型/, prefix: '不可用：', isWrong: (text: string) => !/\p{Script=Han}/u.test(text) },
  { locale: 'en-US', label: /^Model/, prefix: 'Not ready: ', isWrong: (text: string) => /\p{Script=Han}/u.test(text) },
])('every code that the server can send is a sentence in $locale', async ({ locale, label, prefix, isWrong }) => {
  const page = await openPage('/healthz', { at: odd.url, locale });
  await page.route('**/api/models', async (route) => {
    const list = (await (await route.fetch()).json()) as { models: object[] };
    const more = Object.keys(CODES).map((code, n) => ({
      name: `code-${n}`,
      mode: 'native',
      ready: false,
      problem: 'the words of the server',
      notice: { code, params: paramsOf(code) },
    }));
    await route.fulfill({ json: { ...list, models: [...list.models, ...more] } });
  });
  await page.goto(odd.url);
  const { look, end } = watchTexts(page);
  await page.getByRole('button', { name: label }).click();
  const sentences = await page
    .getByRole('menuitemradio', { name: /^code-/ })
    .evaluateAll((items) => items.map((item) => (item as HTMLElement).innerText));
  expect(sentences.length).toBe(Object.keys(CODES).length);
  for (const [n, sentence] of sentences.entries()) {
    const code = Object.keys(CODES)[n] ?? '';
    expect(sentence, code).toContain(prefix);
    const said = sentence.split(prefix)[1]?.split('\n')[0] ?? '';
    expect(isWrong(said) && hasWords(code), `${code}: ${said}`).toBe(false);
    expect(said, code).not.toMatch(/[{}]|undefined|NaN|the words of the server/);
  }
  if (locale !== 'zh-CN') return;
  await look();
  end();
});
