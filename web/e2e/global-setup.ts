import type { TestProject } from 'vitest/node';
import { startMock } from './mock/server';

declare module 'vitest' {
  interface ProvidedContext {
    url: string;
  }
}

/** Tests run against the server at `HELVE_URL`, or against a mock of our own. */
export default async function setup(project: TestProject) {
  const real = process.env.HELVE_URL;
  if (real) {
    project.provide('url', real);
    return;
  }
  const mock = await startMock();
  project.provide('url', mock.url);
  return () => mock.close();
}
