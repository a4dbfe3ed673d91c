// Writes graphql/generated: types of all operations, each screen's operations by their digests, and
// the documents that the server runs under these digests. `--check` only tells whether they are current.

import { createHash } from "node:crypto";
import { mkdir, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { codegen } from "@graphql-codegen/core";
import * as typescriptOperations from "@graphql-codegen/typescript-operations";
import { buildSchema, parse, print, stripIgnoredCharacters, validate, visit } from "graphql";
import { format, resolveConfig } from "prettier";

const OUT = "graphql/generated";
const NOTICE = "// Written by `npm run generate`; do not edit.\n\n";

const SCALARS = {
  ID: "string",
  DateTime: "string",
  Decimal: "string",
  GroupPath: "string",
  JSON: "unknown",
  Long: "string | number",
  Row: "unknown",
};

async function filesBelow(folder) {
  const found = await readdir(folder, { recursive: true });
  return found
    .filter((name) => name.endsWith(".graphql"))
    .map((name) => join(folder, name))
    .sort();
}

async function readDocuments() {
  const files = (await Promise.all(["app", "graphql", "screens"].map(filesBelow))).flat();
  return Promise.all(
    files.map(async (location) => ({
      location,
      document: parse(await readFile(location, "utf8")),
    })),
  );
}

/** The names of the fragments that a definition uses, itself or through others. */
function fragmentsOf(definition, fragments, found = new Set()) {
  visit(definition, {
    FragmentSpread({ name }) {
      if (found.has(name.value)) return;
      found.add(name.value);
      fragmentsOf(fragments.get(name.value), fragments, found);
    },
  });
  return found;
}

/** The text that the server runs: one operation with its fragments, without needless characters. */
function textOf(operation, fragments) {
  const used = [...fragmentsOf(operation, fragments)].sort().map((name) => fragments.get(name));
  return stripIgnoredCharacters([operation, ...used].map(print).join("\n"));
}

function checkAll(schema, documents) {
  const definitions = documents.flatMap(({ document }) => document.definitions);
  const errors = validate(schema, { kind: "Document", definitions });
  if (errors.length > 0) throw new Error(errors.map(String).join("\n\n"));
  return definitions;
}

function typesOf(schema, documents) {
  return codegen({
    filename: "types.ts",
    schema: parse(schema.text),
    schemaAst: schema.built,
    documents,
    config: {
      enumType: "string-literal",
      enumsAsTypes: true,
      exportFragmentTypes: true,
      preResolveTypes: true,
      skipTypename: false,
      scalars: SCALARS,
      useTypeImports: true,
    },
    plugins: [{ operations: {} }],
    pluginMap: { operations: typescriptOperations },
  });
}

const typeName = (operation) => {
  const kind = operation.operation[0].toUpperCase() + operation.operation.slice(1);
  return operation.name.value + kind;
};

function operationsModule(operations, texts) {
  const types = operations.flatMap((operation) => {
    const name = typeName(operation);
    return [name, `${name}Variables`];
  });
  const constants = operations.map((operation) => {
    const [name, type] = [operation.name.value, typeName(operation)];
    const id = digestOf(texts.get(name));
    return `export const ${name}: Operation<${type}, ${type}Variables> = { id: "${id}", name: "${name}" };`;
  });
  return `import type { Operation } from "../operation";
import type { ${types.join(", ")} } from "./types";

${constants.join("\n")}
`;
}

const digestOf = (text) => createHash("sha256").update(text).digest("hex");

/** The generated files by name. */
async function generate() {
  const text = await readFile(process.env.SCHEMA ?? "../schema.graphql", "utf8");
  const schema = { text, built: buildSchema(text) };
  const documents = await readDocuments();
  const definitions = checkAll(schema.built, documents);
  const fragments = new Map(
    definitions
      .filter(({ kind }) => kind === "FragmentDefinition")
      .map((one) => [one.name.value, one]),
  );
  const operations = definitions.filter(({ kind }) => kind === "OperationDefinition");
  const texts = new Map(operations.map((one) => [one.name.value, textOf(one, fragments)]));
  const files = { "types.ts": await typesOf(schema, documents) };
  for (const { location, document } of documents) {
    const own = document.definitions.filter(({ kind }) => kind === "OperationDefinition");
    if (own.length > 0) files[`${basename(dirname(location))}.ts`] = operationsModule(own, texts);
  }
  const byDigest = [...texts.values()].map((one) => [digestOf(one), one]).sort();
  const written = await Promise.all(
    Object.entries(files).map(async ([name, source]) => [
      name,
      await formatted(name, NOTICE + source),
    ]),
  );
  const manifest = `${JSON.stringify(Object.fromEntries(byDigest), null, 1)}\n`;
  return Object.fromEntries([...written, ["documents.json", manifest]]);
}

async function formatted(name, source) {
  return format(source, { ...(await resolveConfig(".prettierrc.json")), filepath: name });
}

async function main() {
  const files = await generate();
  if (process.argv.includes("--check")) {
    const present = await readdir(OUT);
    const stale = new Set([...present, ...Object.keys(files)]);
    for (const [name, text] of Object.entries(files)) {
      if (present.includes(name) && (await readFile(join(OUT, name), "utf8")) === text)
        stale.delete(name);
    }
    if (stale.size === 0) return;
    throw new Error(`npm run generate: these are not current: ${[...stale].join(", ")}`);
  }
  await rm(OUT, { recursive: true, force: true });
  await mkdir(OUT, { recursive: true });
  await Promise.all(Object.entries(files).map(([name, text]) => writeFile(join(OUT, name), text)));
}

await main();
