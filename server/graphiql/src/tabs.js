const PIPELINE = /@pipeline (\S+) ([^"]+)/g;

/** Whether a visit has saved its tabs, which are then opened in place of the examples. */
export function hasTabs(storage) {
  return storage.getItem("graphiql:tabState") !== null;
}

/**
 * The example tabs; undefined without examples.
 *
 * With a fetcher, the pipelines that the variables name are replaced by their ids.
 */
export async function exampleTabs(examples, fetcher) {
  if (examples.length === 0) return undefined;
  const ids = fetcher ? await findPipelines(examples, fetcher).catch(() => new Map()) : new Map();
  return examples.map(({ query, variables, headers }) => ({
    query,
    variables: variables?.replace(PIPELINE, (named) => ids.get(named) ?? named),
    headers,
  }));
}

/** The ids of the pipelines that the variables name, as far as the caller sees them. */
async function findPipelines(examples, fetcher) {
  const texts = examples.map(({ variables }) => variables ?? "").join();
  const named = new Map([...texts.matchAll(PIPELINE)].map((found) => [found[0], found]));
  const fields = [...named.values()].map(([, group, name], n) => {
    const quoted = `name: ${JSON.stringify(name)}, group: ${JSON.stringify(group)}`;
    return `p${n}: pipelineByName(${quoted}) { id }`;
  });
  const ids = new Map();
  if (fields.length === 0) return ids;
  const answer = await fetcher({ query: `{ ${fields.join(" ")} }` });
  [...named.keys()].forEach((text, n) => ids.set(text, answer.data?.[`p${n}`]?.id));
  return ids;
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
