import type { Operation } from "../graphql/operation";
import { reportLost, reportReached } from "./connection";
import { CONNECTION_LOST, Failure } from "./failure";
import type { Session } from "./session";

interface FormattedError {
  message: string;
  extensions?: { code?: string; docUrl?: string; requestId?: string; retryable?: boolean };
}

interface Answer {
  data?: unknown;
  errors?: FormattedError[];
  extensions?: { cost?: Cost };
}

/**
 * What an operation cost: units of the rate limit and, for who reads all groups, read and write
 * units of the table.
 */
export interface Cost {
  readonly requested: number;
  readonly rcu?: number;
  readonly wcu?: number;
}

export interface PaidOperation extends Cost {
  readonly name: string;
  readonly at: number;
}

/** A write is read back by every server within this time, in milliseconds. */
const CONSISTENT_FOR = 10_000;
const MOST_COSTS = 50;

/** Sends operations as the session's caller. */
export class Api {
  /** The last operations and what they cost, newest first. */
  costs: readonly PaidOperation[] = [];
  private consistency: { token: string; until: number } | undefined;

  constructor(
    private readonly endpoint: string,
    readonly session: Session,
    private readonly onSignedOut: () => void,
  ) {}

  /** Run a query or mutation; throws a Failure. */
  async run<Data, Variables>(
    operation: Operation<Data, Variables>,
    variables: Variables,
    signal?: AbortSignal,
  ): Promise<Data> {
    const response = await this.send(operation, variables, signal);
    const answer = await readAnswer(response);
    this.remember(operation.name, response, answer);
    const [error] = answer.errors ?? [];
    if (error || answer.data == null) throw this.failureOf(error, response);
    return answer.data as Data;
  }

  private async send<Data, Variables>(
    operation: Operation<Data, Variables>,
    variables: Variables,
    signal?: AbortSignal,
  ): Promise<Response> {
    const body = JSON.stringify({ documentId: operation.id, variables });
    try {
      const headers = await this.headers();
      const response = await fetch(this.endpoint, {
        method: "POST",
        headers,
        body,
        signal: signal ?? null,
      });
      reportReached();
      return response;
    } catch (error) {
      if (error instanceof DOMException && error.name === "AbortError") throw error;
      reportLost();
      throw new Failure("The server cannot be reached.", CONNECTION_LOST);
    }
  }

  private async headers(): Promise<Record<string, string>> {
    const token = await this.session.token();
    const fresh = this.consistency && Date.now() < this.consistency.until;
    return {
      accept: "application/graphql-response+json, application/json",
      "content-type": "application/json",
      "x-penstock-cost": "1",
      ...(token ? { authorization: `Bearer ${token}` } : {}),
      ...(fresh && this.consistency ? { "penstock-consistency": this.consistency.token } : {}),
    };
  }

  private remember(name: string, response: Response, answer: Answer): void {
    const token = response.headers.get("penstock-consistency");
    if (token) this.consistency = { token, until: Date.now() + CONSISTENT_FOR };
    const cost = answer.extensions?.cost;
    if (cost) {
      this.costs = [{ ...cost, name, at: Date.now() }, ...this.costs].slice(0, MOST_COSTS);
    }
  }

  private failureOf(error: FormattedError | undefined, response: Response): Failure {
    if (response.status === 401) this.onSignedOut();
    const more = error?.extensions ?? {};
    // Which variable of the console it is about tells its user nothing.
    const message =
      error?.message.replace(/^Variable '\$\w+' has invalid value: /, "") ??
      `The server answered with status ${response.status}.`;
    return new Failure(message, more.code ?? `HTTP_${response.status}`, more);
  }
}

async function readAnswer(response: Response): Promise<Answer> {
  try {
    return (await response.json()) as Answer;
  } catch {
    const message = `The server answered with status ${response.status}, and not in JSON.`;
    throw new Failure(message, `HTTP_${response.status}`);
  }
}
