/** The example tabs; undefined without examples. */
export function exampleTabs(examples) {
  if (examples.length === 0) return undefined;
  return examples.map(({ query, variables }) => ({ query, variables }));
}

/**
 * What the editors hold at first: the active tab.
 *
 * Left to itself GraphiQL forgets the variables of an example, and opens one more tab when the
 * page was closed before the editors' text was saved beside the tabs.
 */
export function initialEditors(storage, tabs) {
  const saved = JSON.parse(storage.getItem("graphiql:tabState") ?? "null");
  const active = saved ? saved.tabs?.[saved.activeTabIndex] : tabs?.[0];
  return {
    initialQuery: active?.query ?? undefined,
    initialVariables: active?.variables ?? undefined,
    initialHeaders: active?.headers ?? undefined,
  };
}

/** Headers hold secrets, so they are saved only after the user has asked for it. */
export function forgetHeadersByDefault(storage) {
  const key = "graphiql:shouldPersistHeaders";
  if (storage.getItem(key) === null) storage.setItem(key, "false");
}
