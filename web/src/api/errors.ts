import type { Notice } from './generated/events';

/** What is wrong with a field of a reply. */
export interface FieldProblem {
  /** The names of the groups it is in, and its own, with dots between them; empty where the whole is meant. */
  field: string;
  notice: Notice;
}

/** What the server says when it refuses, in the form of RFC 9457. */
export interface Problem {
  title?: string;
  status?: number;
  detail?: string;
  /** A word for programs. */
  code?: string;
  /** What varies in the sentence of the code. */
  params?: Record<string, unknown>;
  /** On `bad_arguments` and `reply_does_not_fit`: what is wrong with them. */
  notice?: Notice;
  /** On `reply_does_not_fit`: the same for each field. */
  fields?: FieldProblem[];
  /** On `conversation_busy`: the run that is not over. */
  run?: string;
}

/** The server answered, and the answer is no. */
export class ApiError extends Error {
  override name = 'ApiError';

  constructor(
    readonly status: number,
    readonly problem: Problem,
  ) {
    super(problem.detail ?? problem.title ?? `HTTP ${status}`);
  }

  get code(): string {
    return this.problem.code ?? '';
  }
}

/** No answer came: the server is down, or the connection to it is. */
export class Unreachable extends Error {
  override name = 'Unreachable';

  constructor(cause: unknown) {
    super('the server cannot be reached', { cause });
  }
}

/** The code by which the sentence of an error is found, and what varies in it; empty where there is none. */
export function messageOfError(error: Error): { code: string; params?: Record<string, unknown> } {
  if (error instanceof Unreachable) return { code: 'unreachable' };
  if (!(error instanceof ApiError)) return { code: '' };
  const { code, params = {} } = error.problem;
  return { code: code ?? '', params };
}

/** What the server says about the cause of its refusal, where it says more than the code. */
export function causeOfError(error: Error): Notice | null {
  return (error instanceof ApiError && error.problem.notice) || null;
}

export function isAbort(error: unknown): boolean {
  return error instanceof DOMException && error.name === 'AbortError';
}
