// Runs the GraphQL over HTTP audits one after the other and prints a table, or JSON with --json.
//   node run.mjs http://127.0.0.1:8000/graphql [--header "Authorization: Bearer ..."]... [--json]
import { serverAudits } from "graphql-http";

const [url, ...options] = process.argv.slice(2);
if (!url) {
  console.error('usage: node run.mjs URL [--header "Name: value"]... [--json]');
  process.exit(2);
}

const given = {};
for (let index = 0; index < options.length; index += 1) {
  if (options[index] !== "--header") continue;
  const [name, ...value] = options[index + 1].split(":");
  given[name.trim()] = value.join(":").trim();
}

// Bodies are read to the end so that one connection serves audit after audit.
async function fetchFn(target, init = {}) {
  const response = await fetch(target, { ...init, headers: { ...given, ...init.headers } });
  const body = await response.arrayBuffer();
  const empty = [204, 304].includes(response.status);
  return new Response(empty ? null : body, {
    status: response.status,
    headers: response.headers,
  });
}

const results = [];
for (const audit of serverAudits({ url, fetchFn })) {
  const result = await audit.fn();
  const level = audit.name.split(" ")[0];
  results.push({ id: audit.id, level, name: audit.name, status: result.status, reason: result.reason });
}

const passed = (level) =>
  results.filter((one) => one.level === level && one.status === "ok").length;
const total = (level) => results.filter((one) => one.level === level).length;
const levels = ["MUST", "SHOULD", "MAY"];

if (options.includes("--json")) {
  const summary = Object.fromEntries(levels.map((level) => [level, [passed(level), total(level)]]));
  console.log(JSON.stringify({ summary, failed: results.filter((one) => one.status !== "ok") }));
} else {
  for (const one of results) {
    console.log(`${one.status.padEnd(6)} ${one.id}  ${one.name}${one.reason ? `: ${one.reason}` : ""}`);
  }
  for (const level of levels) console.log(`${level.padEnd(6)} ${passed(level)}/${total(level)}`);
}
process.exitCode = results.every((one) => one.status === "ok") ? 0 : 1;
