export interface FieldProblem {
  readonly path: readonly string[];
  readonly message: string;
  readonly code?: string | null;
  readonly line?: number | null;
  readonly column?: number | null;
  readonly excerpt?: string | null;
}

/** What went wrong, in the API's words, with its code and the page about that code. */
export class Failure extends Error {
  readonly code: string;
  readonly docUrl: string | null;
  readonly requestId: string | null;
  readonly problems: readonly FieldProblem[];
  readonly currentVersion: number | null;
  /** Whether the same request may succeed later. */
  readonly isRetryable: boolean;

  constructor(
    message: string,
    code: string,
    more: {
      docUrl?: string | null;
      requestId?: string | null;
      retryable?: boolean;
      problems?: readonly FieldProblem[];
      currentVersion?: number | null;
    } = {},
  ) {
    super(message);
    this.code = code;
    this.docUrl = more.docUrl ?? (code === CONNECTION_LOST ? null : `/errors/${code}`);
    this.requestId = more.requestId ?? null;
    this.problems = more.problems ?? [];
    this.currentVersion = more.currentVersion ?? null;
    this.isRetryable = more.retryable ?? true;
  }
}

/** The code of a request that did not reach the server. */
export const CONNECTION_LOST = "CONNECTION_LOST";

export function isConnectionLost(error: unknown): boolean {
  return error instanceof Failure && error.code === CONNECTION_LOST;
}

/** Show any error as a failure. */
export function failureOf(error: unknown): Failure {
  if (error instanceof Failure) return error;
  return new Failure(error instanceof Error ? error.message : String(error), "CONSOLE_ERROR");
}

/** The members of results that stand for a refusal. */
interface Refusal {
  __typename: string;
  message: string;
  code: string;
  problems?: readonly FieldProblem[];
  currentVersion?: number;
}

/** Return the payload of a mutation's result; throws a Failure for a refusal. */
export function payloadOf<Result extends { __typename: string }>(
  result: Result,
): Exclude<Result, { code: string }> {
  if (!("code" in result) || !("message" in result)) {
    return result as Exclude<Result, { code: string }>;
  }
  const refusal = result as unknown as Refusal;
  throw new Failure(refusal.message, refusal.code, refusal);
}
