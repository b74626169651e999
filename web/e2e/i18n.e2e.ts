import type { Page } from 'playwright-core';
import { expect, test } from 'vitest';
import { answer, ask, card, finished, isMock, openPage, shows } from './browser';

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
  return said.split('\n').filter((line) => /[A-Za-z]{2,}(?:[ ,]+[A-Za-z]{2,}){2,}/.test(line));
}

test('no English sentence is left on the Chinese page', async () => {
  const page = await openPage('/', { locale: 'zh-CN' });
  const left: string[] = [];
  const look = async () => left.push(...(await englishSentences(page)));
  await shows(page.getByRole('heading', { name: '今天想做点什么？' }));
  await look();
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
  if (isMock) {
    await ask(page, 'break down please');
    await finished(page);
    await shows(page.getByText('回答到这里中断了。'));
    await shows(page.getByText('模型服务器无法连接，或暂时无法响应。'));
    await look();
  }
  expect(left).toEqual([]);
});
