const KNOWN = "penstock:devTokens";
const HOLDING_HEADERS = ["graphiql:headers", "graphiql:tabState"];
const MOST = 20;

/** Earlier development tokens of this browser; the present one is kept for the next visit. */
export function outdatedTokens(storage, token) {
  const known = JSON.parse(storage.getItem(KNOWN) ?? "[]");
  const earlier = known.filter((other) => other !== token).slice(0, MOST);
  storage.setItem(KNOWN, JSON.stringify(token ? [token, ...earlier] : earlier));
  return earlier;
}

/** Put the present token where saved tabs and headers hold an earlier one. */
export function renewSavedHeaders(storage, outdated, token) {
  if (!token) return;
  for (const key of HOLDING_HEADERS) {
    const saved = storage.getItem(key);
    if (saved === null) continue;
    const renewed = outdated.reduce((text, old) => text.replaceAll(old, token), saved);
    if (renewed !== saved) storage.setItem(key, renewed);
  }
}

/** The typed headers, with the development token when no other authorization was typed. */
export function withAuthorization(headers, outdated, token) {
  const typed = Object.entries(headers ?? {});
  const isAuthorization = ([name]) => name.toLowerCase() === "authorization";
  const own = typed.find(isAuthorization)?.[1];
  const isOurs = own === undefined || outdated.some((old) => own === `Bearer ${old}`);
  const authorization = isOurs ? token && `Bearer ${token}` : own;
  const others = Object.fromEntries(typed.filter((entry) => !isAuthorization(entry)));
  return authorization ? { ...others, authorization } : others;
}
