// The server under test: the real binary, where `HELVE_BINARY` says or where the workspace builds it.

import { execFile, spawn } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

export interface TestServer {
  url: string;
  /** One for each of `users`. */
  tokens: string[];
  /** Dies without a word, and comes back after a while. */
  restart: (downMs: number) => Promise<void>;
  close: () => Promise<void>;
}

export const binary = process.env.HELVE_BINARY ?? fileURLToPath(new URL('../../target/debug/helve', import.meta.url));

/** The binary with a configuration and a data folder of its own. */
export async function startServer({ config = '', token = '', users = [] as string[] } = {}): Promise<TestServer> {
  const data = await mkdtemp(join(tmpdir(), 'helve-e2e-'));
  const file = join(data, 'helve.toml');
  await writeFile(file, config);
  // Nothing of the machine's own is to be found: no keys, no model server.
  const env = { HELVE_CONFIG: file, OLLAMA_API_URL: 'http://127.0.0.1:9', ...(token !== '' && { HELVE_TOKEN: token }) };
  const tokens: string[] = [];
  for (const user of users) {
    const made = await promisify(execFile)(binary, ['token', 'create', '--user', user, '--data', data]);
    tokens.push(made.stdout.trim());
  }
  let running = await launch(data, '127.0.0.1:0', env);
  const { url } = running;
  return {
    url,
    tokens,
    restart: async (downMs) => {
      await running.end('SIGKILL');
      await new Promise((resolve) => setTimeout(resolve, downMs));
      running = await launch(data, new URL(url).host, env);
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

function launch(data: string, listen: string, more: NodeJS.ProcessEnv): Promise<Launched> {
  const child = spawn(binary, ['serve', '--listen', listen, '--data', data], {
    env: { ...process.env, ...more },
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
