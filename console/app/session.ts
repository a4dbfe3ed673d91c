import type { Settings } from "./settings";

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

const KEY = "penstock:session";

interface SavedSession {
  token: string;
  renewal: string;
  renewAt: number;
  actsAs: string;
  callers: KnownCaller[];
}

/** Take the one-time code out of the address, also out of the history. */
export function takeCode(): string | null {
  const url = new URL(location.href);
  const code = url.searchParams.get("code");
  if (code === null || url.searchParams.has("state")) return null;
  url.searchParams.delete("code");
  history.replaceState(null, "", url);
  return code;
}

/** A session of a development server. A reload keeps it, a closed tab forgets it. */
export class DevSession implements Session {
  private saved = readSaved();
  private exchanging: Promise<number> | undefined;

  constructor(private readonly url: string) {}

  get isOpen(): boolean {
    return this.saved !== null;
  }

  get callers(): readonly KnownCaller[] {
    return this.saved?.callers ?? [];
  }

  get actsAs(): string | undefined {
    return this.saved?.actsAs;
  }

  /** Exchange a code; resolves to false if the server refuses it. */
  async open(code: string): Promise<boolean> {
    return (await this.exchange({ code })) === 200;
  }

  async actAs(userId: string): Promise<void> {
    const status = await this.exchange({ renewal: this.saved?.renewal, actAs: userId });
    if (status === 401) this.end();
  }

  async token(): Promise<string | undefined> {
    if (this.saved !== null && Date.now() >= this.saved.renewAt) {
      this.exchanging ??= this.exchange({ renewal: this.saved.renewal });
      const status = await this.exchanging.catch(() => 0);
      this.exchanging = undefined;
      if (status === 401) this.end();
    }
    return this.saved?.token;
  }

  end(): void {
    this.saved = null;
    sessionStorage.removeItem(KEY);
  }

  private async exchange(proof: object): Promise<number> {
    const answer = await fetch(this.url, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify(proof),
    });
    if (answer.ok) {
      const { renewAfter, ...session } = (await answer.json()) as SavedSession & {
        renewAfter: number;
      };
      this.saved = { ...session, renewAt: Date.now() + renewAfter * 1000 };
      sessionStorage.setItem(KEY, JSON.stringify(this.saved));
    }
    return answer.status;
  }
}

function readSaved(): SavedSession | null {
  const saved = JSON.parse(sessionStorage.getItem(KEY) ?? "null") as SavedSession | null;
  return saved?.renewal ? saved : null;
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

export interface FoundSession {
  readonly session: Session | null;
  /** Why there is none, in words for the user; null if the user did nothing yet. */
  readonly problem: string | null;
}

/** Find the session of this tab: that of a code in the address, of the issuer, or the kept one. */
export async function findSession(settings: Settings): Promise<FoundSession> {
  if (settings.issuer) {
    const { resumeSession } = await import("./issuerSession");
    return resumeSession(settings.issuer);
  }
  if (!settings.sessionUrl) return { session: null, problem: null };
  const session = new DevSession(settings.sessionUrl);
  const code = takeCode();
  if (code !== null && !(await session.open(code))) {
    const problem = "The code in the address was used already, or has expired.";
    return { session: session.isOpen ? session : null, problem };
  }
  return { session: session.isOpen ? session : null, problem: null };
}
