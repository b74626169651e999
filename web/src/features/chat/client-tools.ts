import browserJsEval from '@/api/browser-js-eval.json';
import type { ClientResult, ToolDeclaration } from '@/api/runs';
import type { SandboxResult } from '@/lib/browser-sandbox';

export const BROWSER_JS_EVAL = browserJsEval.function.name;

/** The tools that this page runs itself, as every model is told about them. */
export const CLIENT_TOOLS: ToolDeclaration[] = [{ type: 'function', function: browserJsEval.function }];

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
