import * as oauth from "oauth4webapi";
import type { FoundSession, Session } from "./session";
import type { Settings } from "./settings";

type IssuerSettings = NonNullable<Settings["issuer"]>;

const PENDING = "penstock:sign-in";
const SIGNED_IN = "penstock:signed-in";
const SCOPE = "openid profile offline_access";
/** A token is renewed so many milliseconds before it ends. */
const MARGIN = 30_000;

interface PendingSignIn {
  verifier: string;
  state: string;
  place: string;
}

/** Tokens of the issuer, in memory only; renewed with the refresh token if the issuer gave one. */
class IssuerSession implements Session {
  readonly callers = [];
  readonly actsAs = undefined;
  private renewing: Promise<void> | undefined;

  constructor(
    private readonly server: oauth.AuthorizationServer,
    private readonly client: oauth.Client,
    private tokens: oauth.TokenEndpointResponse,
    private endsAt = endOf(tokens),
  ) {}

  async token(): Promise<string | undefined> {
    if (Date.now() >= this.endsAt - MARGIN) {
      this.renewing ??= this.renew().finally(() => (this.renewing = undefined));
      await this.renewing;
    }
    return this.tokens.access_token || undefined;
  }

  actAs(): Promise<void> {
    return Promise.resolve();
  }

  end(): void {
    this.tokens = { ...this.tokens, access_token: "" };
    sessionStorage.removeItem(SIGNED_IN);
  }

  private async renew(): Promise<void> {
    const renewal = this.tokens.refresh_token;
    if (!renewal) return;
    const { server, client } = this;
    const answer = await oauth.refreshTokenGrantRequest(
      server,
      client,
      oauth.None(),
      renewal,
      loopback(server),
    );
    const tokens = await oauth.processRefreshTokenResponse(server, client, answer);
    this.tokens = { refresh_token: renewal, ...tokens };
    this.endsAt = endOf(tokens);
  }
}

/** Finish a sign-in whose answer is in the address, or begin one if this tab was signed in. */
export async function resumeSession(issuer: IssuerSettings): Promise<FoundSession> {
  const pending = JSON.parse(sessionStorage.getItem(PENDING) ?? "null") as PendingSignIn | null;
  const address = new URL(location.href);
  if (pending && address.searchParams.has("state")) {
    sessionStorage.removeItem(PENDING);
    history.replaceState(null, "", pending.place);
    try {
      const session = await finishSignIn(issuer, pending, address);
      sessionStorage.setItem(SIGNED_IN, "yes");
      return { session, problem: null };
    } catch (error) {
      sessionStorage.removeItem(SIGNED_IN);
      return { session: null, problem: `The issuer did not sign you in: ${reasonOf(error)}` };
    }
  }
  if (sessionStorage.getItem(SIGNED_IN)) await beginSignIn(issuer);
  return { session: null, problem: null };
}

/** Go to the issuer; the page comes back to its present place. */
export async function beginSignIn(issuer: IssuerSettings): Promise<void> {
  const server = await discover(issuer);
  if (!server.authorization_endpoint) throw new Error("the issuer has no authorization endpoint");
  const verifier = oauth.generateRandomCodeVerifier();
  const pending: PendingSignIn = {
    verifier,
    state: oauth.generateRandomState(),
    place: location.href,
  };
  sessionStorage.setItem(PENDING, JSON.stringify(pending));
  const url = new URL(server.authorization_endpoint);
  const parameters = {
    client_id: issuer.clientId,
    redirect_uri: redirectUrl(),
    response_type: "code",
    scope: SCOPE,
    state: pending.state,
    code_challenge: await oauth.calculatePKCECodeChallenge(verifier),
    code_challenge_method: "S256",
    audience: issuer.audience,
    resource: issuer.audience,
  };
  for (const [name, value] of Object.entries(parameters)) url.searchParams.set(name, value);
  location.assign(url);
  await new Promise(() => undefined); // the page is left
}

async function finishSignIn(issuer: IssuerSettings, pending: PendingSignIn, address: URL) {
  const server = await discover(issuer);
  const client: oauth.Client = { client_id: issuer.clientId };
  const parameters = oauth.validateAuthResponse(server, client, address, pending.state);
  const answer = await oauth.authorizationCodeGrantRequest(
    server,
    client,
    oauth.None(),
    parameters,
    redirectUrl(),
    pending.verifier,
    loopback(server),
  );
  const tokens = await oauth.processAuthorizationCodeResponse(server, client, answer);
  return new IssuerSession(server, client, tokens);
}

async function discover(issuer: IssuerSettings): Promise<oauth.AuthorizationServer> {
  const url = new URL(issuer.url);
  const answer = await oauth.discoveryRequest(url, insecureOnLoopback(url));
  return oauth.processDiscoveryResponse(url, answer);
}

function loopback(server: oauth.AuthorizationServer) {
  return insecureOnLoopback(new URL(server.issuer));
}

/** Plain HTTP is for an issuer of this machine only, as in the server's settings. */
function insecureOnLoopback(url: URL) {
  // The library marks the option as deprecated so that nobody uses it without thinking.
  // oxlint-disable-next-line typescript/no-deprecated
  return { [oauth.allowInsecureRequests]: isLoopback(url) };
}

function isLoopback({ hostname }: URL): boolean {
  return ["localhost", "127.0.0.1", "[::1]"].includes(hostname);
}

function redirectUrl(): string {
  return new URL(`${document.documentElement.dataset["base"] ?? "/console"}/`, location.href).href;
}

function endOf(tokens: oauth.TokenEndpointResponse): number {
  return Date.now() + (tokens.expires_in ?? 300) * 1000;
}

function reasonOf(error: unknown): string {
  if (error instanceof oauth.AuthorizationResponseError) {
    return error.error_description ?? error.error;
  }
  return error instanceof Error ? error.message : String(error);
}
