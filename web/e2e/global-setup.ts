import type { TestProject } from 'vitest/node';
import { startServer } from './server';

declare module 'vitest' {
  interface ProvidedContext {
    url: string;
  }
}

/** One server for the journeys that need nothing of their own. */
export default async function setup(project: TestProject) {
  const server = await startServer();
  project.provide('url', server.url);
  return () => server.close();
}
