// Starts the mock server for development: `npm run mock`, then `npm run dev`.

import { runnerImport } from 'vite';

await runnerImport('./e2e/mock/main.ts');
