import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vitest/config';

/** Journeys in a real browser, one after the other, against the real binary. */
export default defineConfig({
  resolve: { alias: { '@': fileURLToPath(new URL('./src', import.meta.url)) } },
  test: {
    include: ['e2e/**/*.e2e.ts'],
    globalSetup: 'e2e/global-setup.ts',
    fileParallelism: false,
    testTimeout: 90_000,
    hookTimeout: 60_000,
  },
});
