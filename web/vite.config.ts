import { fileURLToPath } from 'node:url';
import react from '@vitejs/plugin-react';
import { defineConfig } from 'vitest/config';
import { compressFiles } from './scripts/compress.ts';

const server = process.env.HELVE_URL ?? 'http://127.0.0.1:8890';

export default defineConfig({
  plugins: [react(), compressFiles()],
  resolve: { alias: { '@': fileURLToPath(new URL('./src', import.meta.url)) } },
  server: {
    // The server checks Host and Origin; behind the proxy it must see its own.
    proxy: { '^/(api|healthz|readyz)': { target: server, changeOrigin: true, headers: { origin: server } } },
  },
  // What the first answer can be read without is in chunks of its own (src/ui/lazy-part.tsx).
  build: { target: 'es2022', assetsInlineLimit: 0, modulePreload: { polyfill: false }, chunkSizeWarningLimit: 700 },
  test: { include: ['src/**/*.test.{ts,tsx}'] },
});
