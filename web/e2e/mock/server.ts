// A server that speaks Helve's HTTP interface from memory, for developing the page and for its tests.

import { randomUUID } from 'node:crypto';
import { type IncomingMessage, type Server, type ServerResponse, createServer } from 'node:http';
import type { Socket } from 'node:net';
import type { Answer, Message, Part } from '../../src/api/generated/events';
import { itemsOf, newRun, applyFrame } from '../../src/features/chat/run-state';
import { MockRun } from './run';
import { serveFile } from './static';

export interface MockOptions {
  port?: number;
  /** Milliseconds a word takes. */
  pace?: number;
  /** Wanted from everybody if given. */
  token?: string;
}

export interface Mock {
  url: string;
  /** Breaks the connections of those who follow runs. */
  cut: () => void;
  /** Goes away for a while and comes back, as after a crash. */
  restart: (downMs: number) => Promise<void>;
  close: () => Promise<void>;
}

interface Conversation {
  id: string;
  title: string;
  created_at: number;
  updated_at: number;
  messages: Message[];
  run: MockRun | null;
}

class Problem extends Error {
  constructor(
    readonly status: number,
    readonly code: string,
    detail: string,
    readonly more: object = {},
  ) {
    super(detail);
  }
}

interface Exchange {
  path: string[];
  query: URLSearchParams;
  body: Record<string, unknown>;
  request: IncomingMessage;
  response: ServerResponse;
}

export async function startMock(options: MockOptions = {}): Promise<Mock> {
  const { pace = 15, token } = options;
  const conversations = new Map<string, Conversation>();
  const runs = new Map<string, MockRun>();
  const started = new Map<string, { run: string; conversation: string }>();
  const answered = new Map<string, { answer: Answer; by: string }>();
  const streams = new Set<ServerResponse>();
  const sockets = new Set<Socket>();

  const view = ({ messages, run, ...rest }: Conversation) => {
    const active = run && !run.isOver ? { active_run: run.id } : {};
    return { ...rest, messages: messages.length, ...active };
  };

  const begin = ({ body, request }: Exchange) => {
    const key = String(request.headers['idempotency-key'] ?? randomUUID());
    const known = started.get(key);
    if (known) return known;
    const text = String(body.message ?? '');
    if (body.model === 'no-such-model') throw new Problem(400, 'unknown_model', 'there is no model `no-such-model`');
    const now = Date.now();
    const fresh: Conversation = {
      id: randomUUID(),
      title: text.slice(0, 60),
      created_at: now,
      updated_at: now,
      messages: [],
      run: null,
    };
    const conversation = body.conversation === undefined ? fresh : find(conversations, String(body.conversation));
    if (conversation.run && !conversation.run.isOver) {
      throw new Problem(409, 'conversation_busy', 'a run of this conversation is not over', {
        run: conversation.run.id,
      });
    }
    conversations.set(conversation.id, conversation);
    const asked: Message = { id: randomUUID(), role: 'user', at: now, parts: [{ type: 'text', step: 0, text }] };
    conversation.messages.push(asked);
    conversation.updated_at = now;
    const id = randomUUID();
    const ids = {
      conversation: conversation.id,
      message: asked.id,
      reply: randomUUID(),
      model: String(body.model ?? 'demo'),
    };
    const run = new MockRun(id, text, ids, pace, () => {
      conversation.updated_at = Date.now();
      conversation.messages.push(messageOf(run));
    });
    conversation.run = run;
    runs.set(id, run);
    const answer = { run: id, conversation: conversation.id };
    started.set(key, answer);
    return answer;
  };

  const follow = ({ path, request, response, query }: Exchange) => {
    const run = find(runs, path[2]);
    const after = Number(request.headers['last-event-id'] ?? query.get('after') ?? 0);
    if (Number.isNaN(after)) throw new Problem(400, 'bad_event_id', '`Last-Event-ID` is no number');
    if (after > run.feed.log.length) throw new Problem(409, 'event_id_ahead', '`Last-Event-ID` is beyond the log');
    if (run.isOver && after === run.feed.log.length) return void response.writeHead(204).end();
    response.writeHead(200, {
      'Content-Type': 'text/event-stream',
      'Cache-Control': 'no-store',
      'X-Accel-Buffering': 'no',
    });
    streams.add(response);
    const leave = run.follow(after, (frames, isOver) => {
      for (const frame of frames) {
        const id = frame.kind === 'event' ? `id: ${frame.seq}\n` : '';
        response.write(`${id}data: ${JSON.stringify(frame.body)}\n\n`);
      }
      if (isOver) response.end();
    });
    response.on('close', () => {
      leave();
      streams.delete(response);
    });
  };

  const approvals = () =>
    [...runs.values()].flatMap((run) =>
      [...run.pending.values()].map(({ question }) => ({
        ...question,
        run: run.id,
        user: 'local',
        asked_at: Date.now(),
        state: 'pending',
      })),
    );

  const settle = (id: string, answer: Answer) => {
    const before = answered.get(id);
    if (before) {
      if (JSON.stringify(before.answer) === JSON.stringify(answer)) return {};
      throw new Problem(409, 'approval_answered', 'somebody answered first');
    }
    for (const run of runs.values()) {
      const pending = run.pending.get(id);
      if (!pending) continue;
      // Who answers from a second window of a test says so.
      const by = 'reason' in answer && answer.reason === 'from another window' ? 'mei' : 'local';
      answered.set(id, { answer, by });
      pending.settle(answer, by);
      return {};
    }
    throw new Problem(404, 'not_found', 'there is no such approval');
  };

  const deliver = ({ path, body }: Exchange) => {
    const run = find(runs, path[2]);
    const give = run.delegated.get(path[4] ?? '');
    if (!give) throw new Problem(409, 'call_not_waiting', 'this call does not wait for a result');
    if (typeof body.error === 'string') give({ text: body.error, isError: true });
    else give({ text: JSON.stringify(body.result), isError: false });
    return {};
  };

  const route = async (exchange: Exchange): Promise<unknown> => {
    const { path, query, body, request, response } = exchange;
    const [, area, id, what] = path;
    switch (`${request.method} ${[area, id && ':id', what].filter(Boolean).join('/')}`) {
      case 'POST runs':
        response.statusCode = 201;
        return begin(exchange);
      case 'GET runs/:id':
        return { run: id, conversation: find(runs, id).ids.conversation, state: find(runs, id).state };
      case 'GET runs/:id/events':
        return follow(exchange);
      case 'POST runs/:id/cancel':
        find(runs, id).cancel();
        return {};
      case 'POST runs/:id/calls':
        return deliver(exchange);
      case 'GET conversations': {
        const offset = Number(query.get('offset') ?? 0);
        const all = [...conversations.values()].toSorted((a, b) => b.updated_at - a.updated_at);
        return { conversations: all.slice(offset, offset + Number(query.get('limit') ?? 50)).map(view) };
      }
      case 'GET conversations/:id':
        return view(find(conversations, id));
      case 'PATCH conversations/:id':
        find(conversations, id).title = String(body.title);
        return {};
      case 'DELETE conversations/:id': {
        const { run } = find(conversations, id);
        if (run && !run.isOver) throw new Problem(409, 'conversation_busy', 'a run is not over', { run: run.id });
        conversations.delete(id ?? '');
        return {};
      }
      case 'GET conversations/:id/messages':
        return { messages: find(conversations, id).messages };
      case 'GET approvals':
        return { approvals: approvals() };
      case 'GET approvals/:id':
        return { approval: id, ...answered.get(id ?? ''), state: 'answered' };
      case 'POST approvals/:id':
        return settle(id ?? '', body as unknown as Answer);
      case 'GET models':
        return {
          models: [
            { name: 'demo', mode: 'native', ready: true },
            { name: 'volcano', mode: 'native', ready: false, problem: 'set ARK_API_KEY' },
            { name: 'no-such-model', mode: 'native', ready: true },
          ],
          default: 'demo',
        };
      case 'GET agents':
        return {
          agents: [
            { name: 'helve', max_steps: 10 },
            { name: 'researcher', max_steps: 25 },
          ],
        };
      case 'GET tools':
        return {
          tools: [
            { name: 'calculator', title: 'Calculator' },
            { name: 'time', title: 'Time' },
            { name: 'save_note', title: 'Save a note' },
          ],
        };
      default:
        throw new Problem(404, 'not_found', 'there is no such route');
    }
  };

  const session = ({ request, response, body }: Exchange): unknown => {
    const signedIn = token === undefined || request.headers.cookie?.includes(`helve=${token}`) === true;
    if (request.method === 'POST') {
      if (body.token !== token) throw new Problem(401, 'bad_token', 'this token is not known');
      response.setHeader('Set-Cookie', `helve=${token}; HttpOnly; SameSite=Strict; Path=/`);
      return {};
    }
    if (request.method === 'DELETE') response.setHeader('Set-Cookie', 'helve=; Max-Age=0; Path=/');
    return { needed: token !== undefined, signed_in: signedIn, ...(signedIn && { user: 'local', admin: true }) };
  };

  const handle = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const url = new URL(request.url ?? '/', 'http://mock');
    const path = url.pathname.split('/').slice(1).map(decodeURIComponent);
    if (url.pathname === '/healthz') return void response.end('ok');
    if (path[0] === 'mock') return control(path[1], url.searchParams, response);
    if (path[0] !== 'api') return serveFile(url.pathname, response);
    try {
      if (request.headers['x-helve-page'] !== '1')
        throw new Problem(401, 'no_page_header', 'the header X-Helve-Page is missing');
      const exchange: Exchange = { path, query: url.searchParams, body: await bodyOf(request), request, response };
      const isSession = path[1] === 'session';
      if (!isSession && token !== undefined && !request.headers.cookie?.includes(`helve=${token}`))
        throw new Problem(401, 'no_token', 'a token is needed');
      const result = isSession ? session(exchange) : await route(exchange);
      if (result !== undefined) respond(response, response.statusCode, result);
    } catch (error) {
      if (!(error instanceof Problem)) throw error;
      const { status, code, message, more } = error;
      respond(
        response,
        status,
        { type: 'about:blank', title: code, status, detail: message, code, ...more },
        'application/problem+json',
      );
    }
  };

  let server: Server = createServer();
  let port = options.port ?? 0;
  const listen = async () => {
    server = createServer((request, response) => void handle(request, response));
    server.on('connection', (socket) => {
      sockets.add(socket);
      socket.on('close', () => sockets.delete(socket));
    });
    await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve));
    const address = server.address();
    if (typeof address === 'object' && address !== null) port = address.port;
  };
  const leave = async () => {
    const closed = new Promise((resolve) => server.close(resolve));
    for (const socket of sockets) socket.destroy();
    await closed;
  };
  const restart = async (downMs: number) => {
    await leave();
    for (const run of runs.values()) run.crash();
    await new Promise((resolve) => setTimeout(resolve, downMs));
    await listen();
  };
  const cut = () => {
    for (const stream of streams) stream.destroy();
  };
  const control = (what: string | undefined, query: URLSearchParams, response: ServerResponse) => {
    response.end('ok');
    if (what === 'cut') cut();
    if (what === 'restart') setTimeout(() => void restart(Number(query.get('down') ?? 1_500)), 20);
  };

  await listen();
  return { url: `http://127.0.0.1:${port}`, cut, restart, close: leave };
}

function find<T>(map: Map<string, T>, id: string | undefined): T {
  const found = map.get(id ?? '');
  if (found === undefined) throw new Problem(404, 'not_found', 'there is no such thing');
  return found;
}

function respond(response: ServerResponse, status: number, body: unknown, type = 'application/json'): void {
  response.writeHead(status, { 'Content-Type': type }).end(JSON.stringify(body));
}

async function bodyOf(request: IncomingMessage): Promise<Record<string, unknown>> {
  let text = '';
  for await (const piece of request) text += String(piece);
  return text === '' ? {} : (JSON.parse(text) as Record<string, unknown>);
}

/** What is kept of a run that is over. */
function messageOf(run: MockRun): Message {
  const frames = run.feed.log.map((body, index) => ({ kind: 'event', seq: index + 1, body }) as const);
  const state = frames.reduce(applyFrame, newRun(run.id));
  const parts = itemsOf(state).map((item): Part => {
    if (item.kind !== 'call') return { type: item.kind, step: 1, text: item.text };
    const kept = item.state === 'done' ? 'completed' : item.state === 'unknown' ? 'unknown' : 'error';
    const { call, tool, input, step, output, failure, startedAt, endedAt } = item;
    return {
      type: 'tool',
      step,
      call: call ?? '',
      tool,
      input,
      state: kept,
      output,
      failure,
      requested_at: 0,
      started_at: startedAt,
      ended_at: endedAt,
    };
  });
  if (state.end?.how === 'failed') parts.push({ type: 'notice', text: state.end.message });
  return { id: run.ids.reply, role: 'assistant', at: Date.now(), run: run.id, model: run.ids.model, parts };
}
