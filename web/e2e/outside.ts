// The world around a real server: a model that does as it is told, and services that tools call.

import { type RequestListener, createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type TestServer, startServer } from './server';

export interface Outside {
  host: string;
  close: () => Promise<void>;
}

export async function startOutside(listener: RequestListener): Promise<Outside> {
  const server = createServer(listener);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const close = () => {
    server.closeAllConnections();
    return new Promise<void>((resolve) => server.close(() => resolve()));
  };
  return { host: `127.0.0.1:${(server.address() as AddressInfo).port}`, close };
}

interface Asked {
  messages: { role: string; content: string }[];
}

export interface Wanted {
  name: string;
  arguments: object;
}

/** Asked to `call NAME …`, it calls that tool without arguments. */
function named(text: string): Wanted[] {
  const name = /call (\w+)/.exec(text)?.[1];
  return name === undefined ? [] : [{ name, arguments: {} }];
}

/** Calls what the person's words mean; whatever comes of it, it says `That was all.` */
export function startModel(means: (text: string) => Wanted[] = named): Promise<Outside> {
  return startOutside((request, response) => {
    let body = '';
    request.on('data', (piece: Buffer) => (body += piece.toString()));
    request.on('end', () => {
      const last = (JSON.parse(body) as Asked).messages.at(-1);
      const calls = (last?.role === 'user' ? means(last.content) : []).map((call, index) => ({
        index,
        id: `call_${index + 1}`,
        type: 'function',
        function: { name: call.name, arguments: JSON.stringify(call.arguments) },
      }));
      const said = calls.length === 0 ? { content: 'That was all.' } : { tool_calls: calls };
      const chunk = (delta: object, finish_reason: string | null) =>
        `data: ${JSON.stringify({ choices: [{ index: 0, delta, finish_reason }] })}\n\n`;
      response.writeHead(200, { 'Content-Type': 'text/event-stream' });
      response.write(chunk({ role: 'assistant', ...said }, null));
      response.end(`${chunk({}, calls.length === 0 ? 'stop' : 'tool_calls')}data: [DONE]\n\n`);
    });
  });
}

export interface ScriptedServer extends TestServer {
  /** Adds a row of the tool table. */
  addTool: (definition: object) => Promise<void>;
}

/** A real server whose model does what the person's words mean, and whose tools may call one service. */
export async function startScriptedServer(
  service: Outside,
  means?: (text: string) => Wanted[],
): Promise<ScriptedServer> {
  const model = await startModel(means);
  const config = `
    default_model = "scripted"
    [[models]]
    name = "scripted"
    protocol = "openai_chat"
    base_url = "http://${model.host}/v1"
    model = "m"
    tools = "native"
    probe = false
    [egress]
    allow = ["${service.host}"]`;
  const server = await startServer({ config });
  const close = async () => void (await Promise.all([server.close(), model.close(), service.close()]));
  return { ...server, addTool: (definition) => addTool(server, definition), close };
}

export async function addTool(server: TestServer, definition: object): Promise<void> {
  const made = await fetch(`${server.url}/api/tools`, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json' },
    body: JSON.stringify(definition),
  });
  if (made.status !== 201) throw new Error(await made.text());
}
