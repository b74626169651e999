// What the page says where code for this browser is run; it comes with that part of the page.

import type { Locale } from '@/lib/i18n/locale';

const english = {
  title: 'May this run in your browser?',
  explanation: 'It runs in a sealed frame: no network, no cookies, no access to this page, five seconds at most.',
  run: 'Run',
  decline: 'Don’t run',
  running: 'Running…',
  sending: 'Sending the result…',
  notSent: 'It ran, but the result could not be sent.',
  sendAgain: 'Send the result again',
  noCode: 'The call has no code in it.',
  takenElsewhere: 'This call already has a result, perhaps from another window.',
  claiming: 'Taking the call…',
  notClaimed: 'The call could not be taken.',
  elsewhere: 'Another window runs this call.',
  begun: 'This window started to run it and was then reloaded. You can run it once more here.',
};

const chinese: typeof english = {
  title: '在你的浏览器里运行这段代码吗？',
  explanation: '代码在封闭的框架里运行：没有网络，没有 Cookie，碰不到这个页面，最多五秒。',
  run: '运行',
  decline: '不运行',
  running: '运行中…',
  sending: '正在发送结果…',
  notSent: '代码已运行，但结果没能发送。',
  sendAgain: '重新发送结果',
  noCode: '这次调用里没有代码。',
  takenElsewhere: '这次调用已经有了结果，可能是在另一个窗口里。',
  claiming: '正在领取调用…',
  notClaimed: '没能领取这次调用。',
  elsewhere: '另一个窗口正在运行这次调用。',
  begun: '这个窗口已经开始运行，之后被重新加载。可以在这里再运行一次。',
};

export const BROWSER_CODE_WORDS: Record<Locale, typeof english> = { en: english, zh: chinese };
