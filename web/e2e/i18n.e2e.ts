import { expect, test } from 'vitest';
import { answer, ask, card, finished, openPage, shows } from './browser';

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
