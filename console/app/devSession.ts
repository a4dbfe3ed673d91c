import type { KnownCaller, Session } from "./session";

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
