// Writes src/generated/: types of the operations, and the operations as documents that carry them.
import { mkdir, readFile, writeFile } from "node:fs/promises";

import { preset } from "@graphql-codegen/client-preset";
import { codegen } from "@graphql-codegen/core";
import { buildASTSchema, parse } from "graphql";

const SCHEMA = new URL("../../schema.graphql", import.meta.url);
const OPERATIONS = new URL("../operations.graphql", import.meta.url);
const TARGET = new URL("src/generated/", import.meta.url);

const config = {
  importExtension: ".js",
  strictScalars: true,
  useTypeImports: true,
  scalars: { DateTime: "string", GroupPath: "string", JSON: "unknown", Long: "number", Decimal: "string", Row: "unknown" },
};

const schema = parse(await readFile(SCHEMA, "utf8"));
const rawSDL = await readFile(OPERATIONS, "utf8");
// The other sections serve operations that are written within the program's source.
const [types] = await preset.buildGeneratesSection({
  baseOutputDir: "./",
  config,
  documents: [{ location: OPERATIONS.pathname, rawSDL, document: parse(rawSDL) }],
  pluginMap: {},
  plugins: [],
  presetConfig: { fragmentMasking: false },
  schema,
  schemaAst: buildASTSchema(schema),
});

await mkdir(TARGET, { recursive: true });
await writeFile(new URL(types.filename, TARGET), await codegen(types));
