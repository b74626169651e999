// The world around a real server: a model that does as it is told, and services that tools call.

import { type RequestListener, createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

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
