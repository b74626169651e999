import type { TestProject } from 'vitest/node';
import { startServer } from './server';

declare module 'vitest' {
  interface ProvidedContext {
    url: string;
  }
}

/** Tests run against the server at `HELVE_URL`, or against one of their own. */
export default async function setup(project: TestProject) {
  const given = process.env.HELVE_URL;
  if (given) {
    project.provide('url', given);
    return;
  }
  const server = await startServer();
  project.provide('url', server.url);
  return () => server.close();
}
