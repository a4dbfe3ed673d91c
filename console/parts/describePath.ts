/** What holds a draft tells its reader nothing. */
const UNSAID: ReadonlySet<string> = new Set([
  "",
  "transformer",
  "draft",
  "input",
  "rule",
  "filter",
]);
/** The words of the screens for what the API calls otherwise. */
const SAID: Readonly<Record<string, string>> = { anyOf: "alternative", noneOf: "exception" };
const PLURALS = /^(parameter|transform|output|formula|input)s$/;

/**
 * What a path of a change names, in words: `/transformer/transforms/0/formula` is that of transform 1. Those
 * of drafts have points, and count from 1.
 */
export function describePath(path: string): string {
  const [separator, first] = path.startsWith("/") ? ["/", 1] : [".", 0];
  const parts = path.split(separator).filter((part) => !UNSAID.has(part));
  const words: string[] = [];
  for (const [place, part] of parts.entries()) {
    if (/^\d+$/.test(part) && place > 0) {
      const list = words.pop() ?? "";
      words.push(`${list.replace(PLURALS, "$1")} ${Number(part) + first}`);
    } else words.push(SAID[part] ?? formatCamel(part));
  }
  // A transform has one output.
  return words.join(", ").replace(/(transform \d+), output 1/, "$1, output");
}

function formatCamel(name: string): string {
  return name
    .replaceAll("~1", "/")
    .replace(/[a-z](?=[A-Z])/g, "$& ")
    .toLowerCase();
}
