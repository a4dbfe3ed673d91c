export interface KnownCaller {
  readonly userId: string;
  readonly roles: string;
}

/** Who the console acts as: it gives the token of each request. */
export interface Session {
  token(): Promise<string | undefined>;
  /** The callers that a development server lets the console act as. */
  readonly callers: readonly KnownCaller[];
  readonly actsAs: string | undefined;
  actAs(userId: string): Promise<void>;
  end(): void;
}

export interface FoundSession {
  readonly session: Session | null;
  /** Why there is none, in words for the user; null if the user did nothing yet. */
  readonly problem: string | null;
}

/** A token that its user typed: it is in memory only, and nothing renews it. */
export class TypedSession implements Session {
  readonly callers = [];
  readonly actsAs = undefined;
  private typed: string | undefined;

  constructor(token: string) {
    this.typed = token.trim().replace(/^bearer\s+/i, "");
  }

  token(): Promise<string | undefined> {
    return Promise.resolve(this.typed);
  }

  actAs(): Promise<void> {
    return Promise.resolve();
  }

  end(): void {
    this.typed = undefined;
  }
}
