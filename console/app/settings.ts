/** What the server tells the page: paths and URLs, and no secret. */
export interface Settings {
  readonly base: string;
  readonly endpoint: string;
  readonly sessionUrl: string | null;
  readonly graphiqlUrl: string | null;
  readonly issuer: { url: string; clientId: string; audience: string } | null;
}

export function readSettings(): Settings {
  const block = document.getElementById("penstock");
  return JSON.parse(block?.textContent ?? "null") as Settings;
}
