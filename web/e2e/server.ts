// The server under test: the mock, or the real binary where `HELVE_SERVER` says where it is.

import { spawn } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startMock } from './mock/server';

export interface TestServer {
  url: string;
  /** Dies without a word, and comes back after a while. */
  restart: (downMs: number) => Promise<void>;
  close: () => Promise<void>;
}

export function startServer(token?: string): Promise<TestServer> {
  const binary = process.env.HELVE_SERVER;
  return binary ? startBinary(binary, token) : startMock(token === undefined ? {} : { token });
}

async function startBinary(binary: string, token?: string): Promise<TestServer> {
  const data = await mkdtemp(join(tmpdir(), 'helve-e2e-'));
  let running = await launch(binary, data, '127.0.0.1:0', token);
  const { url } = running;
  return {
    url,
    restart: async (downMs) => {
      await running.end('SIGKILL');
      await new Promise((resolve) => setTimeout(resolve, downMs));
      running = await launch(binary, data, new URL(url).host, token);
    },
    close: async () => {
      await running.end('SIGTERM');
      await rm(data, { recursive: true, force: true });
    },
  };
}

interface Launched {
  url: string;
  end: (signal: NodeJS.Signals) => Promise<void>;
}

function launch(binary: string, data: string, listen: string, token?: string): Promise<Launched> {
  const child = spawn(binary, ['serve', '--listen', listen, '--data', data], {
    env: { ...process.env, ...(token !== undefined && { HELVE_TOKEN: token }) },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const ended = new Promise<void>((resolve) => child.once('exit', () => resolve()));
  return new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('exit', (code) => reject(new Error(`${binary} ended with ${code}`)));
    child.stdout.on('data', (piece: Buffer) => {
      const url = /listening on (http:\/\/\S+)/.exec(piece.toString())?.[1];
      if (url === undefined) return;
      const end = async (signal: NodeJS.Signals) => {
        child.kill(signal);
        await ended;
      };
      resolve({ url, end });
    });
  });
}
