// A server that speaks Helve's HTTP interface from memory, for developing the page and for its tests.

import { randomUUID } from 'node:crypto';
import { type IncomingMessage, type Server, type ServerResponse, createServer } from 'node:http';
import type { Socket } from 'node:net';
import type { Answer } from '../../src/api/generated/events';
import { serveFile } from './static';
import { Problem, World } from './world';

export interface MockOptions {
  port?: number;
  /** Milliseconds a word takes. */
  pace?: number;
  /** Wanted from everybody if given. */
  token?: string;
}

export interface Mock {
  url: string;
  /** Goes away as by a crash, and comes back after a while. */
  restart: (downMs: number) => Promise<void>;
  close: () => Promise<void>;
}

export async function startMock(options: MockOptions = {}): Promise<Mock> {
  const mock = new MockServer(options);
  await mock.listen();
  return { url: mock.url, restart: (downMs) => mock.restart(downMs), close: () => mock.leave() };
}

interface Exchange {
  path: string[];
  query: URLSearchParams;
  body: Record<string, unknown>;
  request: IncomingMessage;
  response: ServerResponse;
}

class MockServer {
  readonly #world: World;
  readonly #token: string | undefined;
  readonly #streams = new Set<ServerResponse>();
  readonly #sockets = new Set<Socket>();
  #server: Server | null = null;
  #port: number;

  constructor({ port = 0, pace = 15, token }: MockOptions) {
    this.#world = new World(pace);
    this.#token = token;
    this.#port = port;
  }

  get url(): string {
    return `http://127.0.0.1:${this.#port}`;
  }

  async listen(): Promise<void> {
    const server = createServer((request, response) => void this.#handle(request, response));
    server.on('connection', (socket) => {
      this.#sockets.add(socket);
      socket.on('close', () => this.#sockets.delete(socket));
    });
    await new Promise<void>((resolve) => server.listen(this.#port, '127.0.0.1', resolve));
    const address = server.address();
    if (typeof address === 'object' && address !== null) this.#port = address.port;
    this.#server = server;
  }

  async leave(): Promise<void> {
    const closed = new Promise((resolve) => this.#server?.close(resolve));
    for (const socket of this.#sockets) socket.destroy();
    await closed;
  }

  async #handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const url = new URL(request.url ?? '/', this.url);
    const path = url.pathname.split('/').slice(1).map(decodeURIComponent);
    if (url.pathname === '/healthz') return void response.end('ok');
    if (url.pathname === '/mock/cut') return this.#cut(response);
    if (path[0] !== 'api') return serveFile(url.pathname, response);
    try {
      if (request.headers['x-helve-page'] !== '1') throw new Problem(401, 'no_page_header', 'X-Helve-Page is missing');
      const exchange = { path, query: url.searchParams, body: await bodyOf(request), request, response };
      const answer = path[1] === 'session' ? this.#session(exchange) : this.#route(exchange);
      if (answer !== undefined) send(response, response.statusCode, answer);
    } catch (error) {
      if (!(error instanceof Problem)) throw error;
      const { status, code, message, more } = error;
      send(response, status, { type: 'about:blank', title: code, status, detail: message, code, ...more });
    }
  }

  #route(exchange: Exchange): unknown {
    if (!this.#isKnown(exchange.request)) throw new Problem(401, 'no_token', 'a token is needed');
    const { path, query, body, request, response } = exchange;
    const [, area = '', id = '', what] = path;
    const world = this.#world;
    switch (`${request.method} ${[area, id && ':id', what].filter(Boolean).join('/')}`) {
      case 'POST runs':
        response.statusCode = 201;
        return world.begin(body, String(request.headers['idempotency-key'] ?? randomUUID()));
      case 'GET runs/:id':
        return { run: id, conversation: world.run(id).ids.conversation, state: world.run(id).state };
      case 'GET runs/:id/events':
        return this.#follow(exchange);
      case 'POST runs/:id/cancel':
        return world.run(id).cancel() ?? {};
      case 'POST runs/:id/calls':
        if (path[5] === 'claim') return world.claim(id, path[4] ?? '', body);
        return world.deliver(id, path[4] ?? '', body) ?? {};
      case 'GET conversations':
        return { conversations: world.list(Number(query.get('offset') ?? 0), Number(query.get('limit') ?? 50)) };
      case 'GET conversations/:id':
        return world.show(id);
      case 'PATCH conversations/:id':
        return world.rename(id, String(body.title)) ?? {};
      case 'DELETE conversations/:id':
        return world.remove(id) ?? {};
      case 'GET conversations/:id/messages':
        return { messages: world.messages(id) };
      case 'GET approvals':
        return { approvals: world.pending() };
      case 'GET approvals/:id':
        return world.approval(id);
      case 'POST approvals/:id':
        return world.settle(id, body as unknown as Answer) ?? {};
      case 'GET models':
        return { models: MODELS, default: 'demo', currency: 'USD' };
      case 'GET agents':
        return { agents: [{ name: 'helve' }, { name: 'researcher' }] };
      case 'GET tools':
        return { tools: TOOLS };
      default:
        throw new Problem(404, 'not_found', 'there is no such route');
    }
  }

  #follow({ path, query, request, response }: Exchange): undefined {
    const run = this.#world.run(path[2] ?? '');
    const after = Number(request.headers['last-event-id'] ?? query.get('after') ?? 0);
    if (Number.isNaN(after)) throw new Problem(400, 'bad_event_id', '`Last-Event-ID` is no number');
    if (after > run.feed.log.length) throw new Problem(409, 'event_id_ahead', '`Last-Event-ID` is beyond the log');
    if (run.isOver && after === run.feed.log.length) return void response.writeHead(204).end();
    response.writeHead(200, { 'Content-Type': 'text/event-stream', 'Cache-Control': 'no-store' });
    this.#streams.add(response);
    const leave = run.follow(after, (frames, isOver) => {
      for (const frame of frames) {
        const id = frame.kind === 'event' ? `id: ${frame.seq}\n` : '';
        response.write(`${id}data: ${JSON.stringify(frame.body)}\n\n`);
      }
      if (isOver) response.end();
    });
    response.on('close', () => {
      leave();
      this.#streams.delete(response);
    });
  }

  #session({ request, response, body }: Exchange): object {
    if (request.method === 'POST') {
      if (body.token !== this.#token) throw new Problem(401, 'bad_token', 'this token is not known');
      response.setHeader('Set-Cookie', `helve=${this.#token}; HttpOnly; SameSite=Strict; Path=/`);
    }
    if (request.method === 'DELETE') response.setHeader('Set-Cookie', 'helve=; Max-Age=0; Path=/');
    const isKnown = this.#isKnown(request);
    return { needed: this.#token !== undefined, signed_in: isKnown, ...(isKnown && { user: 'local', admin: true }) };
  }

  #isKnown({ headers }: IncomingMessage): boolean {
    return this.#token === undefined || headers.cookie?.includes(`helve=${this.#token}`) === true;
  }

  /** Breaks the connections of those who follow runs. */
  #cut(response: ServerResponse): void {
    for (const stream of this.#streams) stream.destroy();
    response.end('ok');
  }

  async restart(downMs: number): Promise<void> {
    await this.leave();
    this.#world.crash();
    await new Promise((resolve) => setTimeout(resolve, downMs));
    await this.listen();
  }
}

const PRICE = { input: 0.25, cached: 0.025, cache_write: 0.25, output: 2, source: 'shipped', as_of: '2026-06-01' };

const MODELS = [
  { name: 'demo', default: true, mode: 'native', ready: true },
  {
    name: 'house',
    vendor: 'openai',
    model: 'gpt-5-mini',
    mode: 'native',
    ready: true,
    price: PRICE,
    variants: ['brief', 'thorough'],
  },
  { name: 'small', vendor: 'ollama', model: 'qwen3:0.6b', mode: 'prompt:hermes', ready: true },
  { name: 'volcano', mode: 'native', ready: false, problem: 'set ARK_API_KEY' },
  { name: 'no-such-model', mode: 'native', ready: true },
];

const TOOLS = [
  { name: 'calculator', title: 'Calculator' },
  { name: 'time', title: 'Time' },
  { name: 'save_note', title: 'Save a note' },
];

function send(response: ServerResponse, status: number, body: unknown): void {
  const type = status < 400 ? 'application/json' : 'application/problem+json';
  response.writeHead(status, { 'Content-Type': type }).end(JSON.stringify(body));
}

async function bodyOf(request: IncomingMessage): Promise<Record<string, unknown>> {
  let text = '';
  for await (const piece of request) text += String(piece);
  return text === '' ? {} : (JSON.parse(text) as Record<string, unknown>);
}
