import type { Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { answer, ask, card, finished, openPage, shows } from './browser';
import { type OddWorld, startOddWorld } from './odd-world';
import { startServer } from './server';

test('the page speaks the language of the browser', async () => {
  const page = await openPage('/', { locale: 'zh-CN' });
  await shows(page.getByRole('heading', { name: '今天想做点什么？' }));
  expect(await page.evaluate(() => document.documentElement.lang)).toBe('zh-CN');
  await ask(page, '3480 × 12.5% 是多少？');
  await finished(page);
  await shows(card(page, /计算器: 完成/));
  await shows(answer(page).getByText('435', { exact: true }));
});

test('another language can be chosen, and is remembered', async () => {
  const page = await openPage();
  await page.getByRole('button', { name: 'Settings' }).click();
  await page.getByRole('menuitemradio', { name: '中文' }).click();
  await shows(page.getByRole('heading', { name: '今天想做点什么？' }));
  await page.reload();
  await shows(page.getByRole('button', { name: '新对话' }));
});

test('the appearance can be chosen, and is remembered', async () => {
  const page = await openPage('/', { colorScheme: 'light' });
  const paper = () => page.evaluate(() => getComputedStyle(document.body).backgroundColor);
  const light = await paper();
  await page.getByRole('button', { name: 'Settings' }).click();
  await page.getByRole('menuitemradio', { name: 'Dark' }).click();
  const dark = await paper();
  expect(dark).not.toBe(light);
  await page.reload();
  await shows(page.getByRole('button', { name: 'Settings' }));
  expect(await paper()).toBe(dark);
});

/** What the page itself says: its frame, its cards, its notices and its dialogs, but not what a model or a person wrote. */
async function englishSentences(page: Page): Promise<string[]> {
  const said = await page.evaluate(() =>
    [
      ...document.querySelectorAll(
        'header, aside h2, aside button, [role=group], [role=dialog], [role=alert], [role=status], form',
      ),
    ]
      .map((element) => (element as HTMLElement).innerText)
      .join('\n'),
  );
  // Commands are the same in every language.
  return said
    .replaceAll('helve token create', '')
    .split('\n')
    .filter((line) => /[A-Za-z]{2,}(?:[ ,]+[A-Za-z]{2,}){2,}/.test(line));
}

/** Looks at states of the page one after the other, and remembers every English sentence. */
function watch(page: Page) {
  const left: string[] = [];
  const look = async () => void left.push(...(await englishSentences(page)));
  return { left, look };
}

describe('no English sentence is left on the Chinese page', () => {
  let odd: OddWorld;
  beforeAll(async () => {
    odd = await startOddWorld();
  });
  afterAll(() => odd.close());

  const openChinese = (at?: string) => openPage('/', { locale: 'zh-CN', ...(at && { at }) });

  test('when it is empty, in its menus and dialogs, and where a person is asked', async () => {
    const page = await openChinese();
    const { left, look } = watch(page);
    await shows(page.getByRole('heading', { name: '今天想做点什么？' }));
    await look();
    await page.getByRole('button', { name: /^模型/ }).click();
    await shows(page.getByRole('menu', { name: '模型' }));
    await look();
    await page.keyboard.press('Escape');
    await page.getByRole('button', { name: '设置' }).click();
    await look();
    await page.getByRole('menuitem', { name: '无需询问的调用' }).click();
    await shows(page.getByRole('dialog', { name: '无需询问的调用' }));
    await look();
    await page.keyboard.press('Escape');
    await ask(page, '记住：明天九点开会');
    const question = page.getByRole('group', { name: '允许“保存笔记”吗？' });
    await shows(question.getByText('在服务器上保存一条笔记'));
    await shows(question.getByText(/会改变数据/));
    await look();
    for (const form of ['始终允许…', '修改后允许…', '由我来答…', '拒绝…']) {
      await page.getByRole('button', { name: form, exact: true }).click();
      await look();
      if (form !== '拒绝…') await page.getByRole('button', { name: '取消', exact: true }).click();
    }
    await page.getByRole('button', { name: '拒绝', exact: true }).click();
    await finished(page);
    await shows(card(page, /保存笔记: 已拒绝/).getByText('这次调用被拒绝了。'));
    await look();
    await ask(page, '记住：后天十点开会');
    await page.getByRole('button', { name: '允许', exact: true }).click();
    await finished(page);
    await shows(card(page, /保存笔记: 完成/).getByText(/^已保存第 \d+ 条笔记$/));
    await look();
    expect(left).toEqual([]);
  });

  test('while an answer is written, stopped, broken off or cannot be had', async () => {
    const page = await openChinese(odd.url);
    const { left, look } = watch(page);
    await ask(page, '慢慢说');
    await shows(answer(page).getByText('word3'));
    await look();
    await page.getByRole('button', { name: '停止' }).click();
    await finished(page);
    await shows(page.getByText('你停止了这次回答。'));
    await look();
    await ask(page, '说到一半中断');
    await finished(page);
    await shows(page.getByText('回答到这里中断了。'));
    await shows(page.getByText('模型的回答中途断开了。'));
    await look();
    await page.reload();
    await shows(page.getByText('模型的回答中途断开了。'));
    await look();
    expect(left).toEqual([]);
  });

  test('where tools fail or nobody knows what became of a call', async () => {
    const page = await openChinese(odd.url);
    const { left, look } = watch(page);
    await ask(page, '除以零');
    await finished(page);
    await shows(card(page, /计算器: 失败/).getByText('“1/0”无法计算。'));
    await ask(page, '搜索茶叶');
    await finished(page);
    await shows(card(page, /网页搜索: 失败/).getByText(/^这台服务器没有设置网页搜索/));
    await look();
    await ask(page, '发邮件给小梅');
    await page.getByRole('button', { name: '允许', exact: true }).click();
    await shows(page.getByRole('group', { name: '“send_mail”生效了吗？' }));
    await look();
    await page.getByRole('button', { name: '没有生效' }).click();
    await finished(page);
    await look();
    expect(left).toEqual([]);
  });

  test('where a budget is nearly used, or used up', async () => {
    const server = await startServer({ config: '[budgets.run]\ntokens = 1_000\nask_at = 0.01\n' });
    onTestFinished(() => server.close());
    const page = await openChinese(server.url);
    const { left, look } = watch(page);
    await ask(page, '记住：明天九点开会');
    await shows(page.getByText(/^这次运行的预算快用完了：已用 [\d,]+ 词元，上限 1,000 词元。$/));
    await look();
    await page.getByRole('button', { name: '到此为止' }).click();
    await finished(page);
    await shows(page.getByText(/^没有人同意继续使用这次运行的预算/));
    await look();
    await page.reload();
    await shows(page.getByText(/^没有人同意继续使用这次运行的预算/));
    await look();
    expect(left).toEqual([]);
  });

  test('where the server is gone or wants a token', async () => {
    const server = await startServer({ token: 'open-sesame-and-close' });
    let isClosed = false;
    onTestFinished(() => (isClosed ? undefined : server.close()));
    const page = await openChinese(server.url);
    const { left, look } = watch(page);
    await page.getByRole('textbox', { name: '访问令牌' }).fill('wrong-token-of-nobody');
    await page.getByRole('button', { name: '登录' }).click();
    await shows(page.getByText('令牌无效。'));
    await look();
    await page.getByRole('textbox', { name: '访问令牌' }).fill('open-sesame-and-close');
    await page.getByRole('button', { name: '登录' }).click();
    await shows(page.getByRole('heading', { name: '今天想做点什么？' }));
    await server.close();
    isClosed = true;
    await ask(page, '你好');
    await shows(page.getByText('Helve 没有响应。'));
    await look();
    expect(left).toEqual([]);
  });
});
