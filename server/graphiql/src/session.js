const KEY = "penstock:session";

/** The one-time code in the address, which is taken out of the address bar and the history. */
export function takeCode() {
  const url = new URL(location.href);
  const code = url.searchParams.get("code");
  if (code === null) return null;
  url.searchParams.delete("code");
  history.replaceState(null, "", url);
  return code;
}

/** The token of this tab, renewed when it is due; a reload keeps it, a closed tab forgets it. */
export class Session {
  constructor(url) {
    this.url = url;
    this.saved = JSON.parse(sessionStorage.getItem(KEY) ?? "null");
  }

  get isOpen() {
    return this.saved !== null;
  }

  /** Exchange a code; resolves to false if the server refuses it. */
  async open(code) {
    return this.url ? (await this.exchange({ code })) === 200 : false;
  }

  /** The callers that the page can act as, none if it was given a token. */
  get callers() {
    return this.saved?.callers ?? [];
  }

  /** The caller that the page acts as. */
  get actsAs() {
    return this.saved?.actsAs;
  }

  /** Act as another caller from now on; resolves to false if the session has ended. */
  async actAs(userId) {
    const status = await this.exchange({ renewal: this.saved.renewal, actAs: userId });
    if (status === 401) this.save(null);
    return status === 200;
  }

  /** Keep a token that the user has given, which nothing renews. */
  keep(token) {
    this.save({ token: token.trim().replace(/^bearer\s+/i, "") });
  }

  /** The present token; undefined without one, or once the server has ended the session. */
  async token() {
    const { renewal, renewAt } = this.saved ?? {};
    const isDue = renewal && Date.now() >= renewAt;
    if (isDue && (await this.exchange({ renewal })) === 401) this.save(null);
    return this.saved?.token;
  }

  /** Exchange a code or a renewal; resolves to the status of the answer. */
  async exchange(proof) {
    const answer = await fetch(this.url, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify(proof),
    });
    if (answer.ok) {
      const { renewAfter, ...session } = await answer.json();
      this.save({ ...session, renewAt: Date.now() + renewAfter * 1000 });
    }
    return answer.status;
  }

  save(saved) {
    this.saved = saved;
    if (saved) sessionStorage.setItem(KEY, JSON.stringify(saved));
    else sessionStorage.removeItem(KEY);
  }
}

/** The typed headers, with the session's token when no other authorization was typed. */
export function withAuthorization(headers, token) {
  const typed = Object.keys(headers ?? {}).some((name) => name.toLowerCase() === "authorization");
  return typed || !token ? headers : { ...headers, authorization: `Bearer ${token}` };
}
