import type { ClientResult, ToolDeclaration } from '@/api/runs';
import type { SandboxResult } from '@/lib/browser-sandbox';

export const BROWSER_JS_EVAL = 'browser_js_eval';

/** The tools that this page runs itself, as every model is told about them. */
export const CLIENT_TOOLS: ToolDeclaration[] = [
  {
    type: 'function',
    function: {
      name: BROWSER_JS_EVAL,
      description: [
        'Runs JavaScript in the user’s browser and returns the value as JSON. The user sees the code and decides',
        'whether it runs. The value of an expression, or of the last statement, is returned; a promise is awaited.',
        'With `await` or `return` at the top level the code is the body of an async function, so `return` the value.',
        'It runs in a worker without DOM, network, storage or imports, for five seconds at most. If it writes to the',
        'console the result is {"value", "console"}. Use it for computing and for trying code out.',
      ].join(' '),
      parameters: {
        type: 'object',
        properties: { code: { type: 'string', description: 'JavaScript source' } },
        required: ['code'],
        additionalProperties: false,
      },
    },
  },
];

/** The code in a call's arguments, or null if there is none. */
export function codeOf(input: string): string | null {
  try {
    const { code } = JSON.parse(input) as { code?: unknown };
    return typeof code === 'string' ? code : null;
  } catch {
    return null;
  }
}

/** What the model is told of a run of its code. */
export function clientResult(result: SandboxResult): ClientResult {
  const { lines } = result;
  if (!result.ok) return { error: [result.error, ...(lines.length > 0 ? ['console:', ...lines] : [])].join('\n') };
  return { result: lines.length > 0 ? { value: result.value, console: lines } : result.value };
}

export const DECLINED: ClientResult = { error: 'the user declined to run it' };
