import { type Client, createClient } from "graphql-ws";
import type { Operation } from "../graphql/operation";
import { reportLost } from "./connection";
import type { Session } from "./session";

/** Subscriptions over one WebSocket, opened when the first begins and again whenever it breaks. */
export class Live {
  private readonly client: Client;
  private wasConnected = false;

  constructor(endpoint: string, session: Session, onReconnected: () => void) {
    this.client = createClient({
      url: socketUrl(endpoint),
      lazyCloseTimeout: 5_000,
      retryAttempts: Infinity,
      shouldRetry: () => true,
      retryWait: (count) => wait(Math.min(250 * 2 ** count, 2_000)),
      connectionParams: async () => ({ authorization: `Bearer ${(await session.token()) ?? ""}` }),
      // The server knows the documents by their digests.
      jsonMessageReplacer: (key, value: unknown) =>
        key === "payload" && isSubscription(value) ? named(value) : value,
      on: {
        connected: () => {
          if (this.wasConnected) onReconnected();
          this.wasConnected = true;
        },
        closed: (event) => {
          if (!(event as CloseEvent).wasClean) reportLost();
        },
      },
    });
  }

  /** Begin a subscription; returns what ends it. */
  subscribe<Data, Variables extends Record<string, unknown>>(
    operation: Operation<Data, Variables>,
    variables: Variables,
    onData: (data: Data) => void,
    onEnd: () => void,
  ): () => void {
    return this.client.subscribe<Data>(
      { query: operation.id, variables },
      {
        next: ({ data }) => {
          if (data) onData(data);
        },
        error: onEnd,
        complete: onEnd,
      },
    );
  }

  end(): void {
    void this.client.dispose();
  }
}

interface Named {
  query: string;
  variables: unknown;
}

function isSubscription(value: unknown): value is Named {
  return typeof value === "object" && value !== null && "query" in value;
}

function named({ query, variables }: Named) {
  return { documentId: query, variables };
}

function wait(milliseconds: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, milliseconds));
}

function socketUrl(endpoint: string): string {
  const url = new URL(endpoint, location.href);
  url.protocol = url.protocol.replace(/^http/, "ws");
  return url.href;
}
