// Bundles the page into the folder named on the command line: index.html and assets/.

import { createHash } from "node:crypto";
import { mkdir, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { basename, join, relative } from "node:path";
import { promisify } from "node:util";
import { constants, gzip } from "node:zlib";
import { build } from "esbuild";

const WORKERS = {
  editor: "monaco-editor/esm/vs/editor/editor.worker.js",
  graphql: "monaco-graphql/esm/graphql.worker.js",
  json: "monaco-editor/esm/vs/language/json/json.worker.js",
};

// GraphiQL asks for the old names, which are CommonJS, and then finds no `parsers` in them.
const PRETTIER = {
  "prettier/parser-babel": "prettier/plugins/babel",
  "prettier/parser-graphql": "prettier/plugins/graphql",
};
const PARTS_OF_PRETTIER = [
  "prettier/standalone",
  "prettier/plugins/babel",
  "prettier/plugins/estree",
  "prettier/plugins/graphql",
];

const out = process.argv[2] ?? "dist";
const assets = join(out, "assets");

// GraphiQL's own style sheet holds Monaco's styles already.
const withoutMonacoStyles = {
  name: "without-monaco-styles",
  setup({ onLoad }) {
    onLoad({ filter: /[\\/]monaco-editor[\\/].*\.css$/ }, () => ({ contents: "", loader: "js" }));
  },
};

// Fonts of the system draw the letters of old Cyrillic and Greek, which took 70 KB of each page, and outside of the
// editors, where the page itself is in English, all of Cyrillic, Greek, Vietnamese and the further Latin letters, which
// took 75 KB. The browser slants upright letters for the few italic words, which saves 43 KB.
const withoutFontsOfFewWords = {
  name: "without-fonts-of-few-words",
  setup({ onLoad }) {
    onLoad({ filter: /[\\/]graphiql[\\/]dist[\\/]style\.css$/ }, async ({ path }) => ({
      contents: (await readFile(path, "utf8")).replace(FONT_FACE, (face) => (isOfFewWords(face) ? "" : face)),
      loader: "css",
    }));
  },
};
const FONT_FACE = /@font-face\s*\{[^}]*\}/g;
const OLD_LETTERS = /unicode-range:\s*U\+(?:0460-052F|1F00-1FFF)\b/;
const FEW_LETTERS = /unicode-range:\s*U\+(?:0100-024F|0400-045F|0370-03FF|0102-0103)\b/;
const ITALIC = /font-style:\s*italic/;
const isOfFewWords = (face) =>
  OLD_LETTERS.test(face) || (/Roboto/.test(face) && (FEW_LETTERS.test(face) || ITALIC.test(face)));

// Features of Monaco for what neither GraphQL nor JSON offers here, such as definitions, colours and differences.
// They took 55 KB of the page.
const UNUSED_FEATURES = [
  "codelens",
  "colorPicker",
  "diffEditor",
  "diffEditorBreadcrumbs",
  "dropOrPasteInto",
  "gotoSymbol",
  "inlayHints",
  "inlineCompletions",
  "inlineEdit",
  "inlineEdits",
  "inlineProgress",
  "inspectTokens",
  "linkedEditing",
  "referenceSearch",
  "rename",
  "sectionHeaders",
  "semanticTokens",
];
const LISTS_OF_FEATURES = /[\\/]vs[\\/]editor[\\/](?:editor\.all|edcore\.main)\.js$/;
const withoutUnusedFeatures = {
  name: "without-unused-features",
  setup({ onLoad }) {
    const unused = new RegExp(`import '[^']*/(?:${UNUSED_FEATURES.join("|")})/[^']*';`, "g");
    onLoad({ filter: LISTS_OF_FEATURES }, async ({ path }) => ({
      contents: (await readFile(path, "utf8")).replace(unused, ""),
      loader: "js",
    }));
  },
};

const common = {
  outdir: assets,
  entryNames: "[name]-[hash]",
  chunkNames: "[name]-[hash]",
  assetNames: "[name]-[hash]",
  bundle: true,
  format: "esm",
  target: "es2022",
  minify: true,
  metafile: true,
  legalComments: "eof",
  logLevel: "warning",
};

/** Prettier is built by itself, because the page and a worker load the same parts of it. */
async function buildPrettier() {
  const { metafile } = await build({ ...common, entryPoints: PARTS_OF_PRETTIER });
  const files = Object.entries(metafile.outputs).map(([file, { entryPoint }]) => [
    /prettier\/.+(?=\.mjs$)/.exec(entryPoint)[0],
    `./${basename(file)}`,
  ]);
  return { metafile, files: Object.fromEntries(files) };
}

/** Lets what is bundled load the parts of Prettier that were built before. */
const withPrettier = (files) => ({
  name: "with-prettier",
  setup({ onResolve }) {
    onResolve({ filter: /^prettier\// }, ({ path }) => {
      const built = files[PRETTIER[path] ?? path];
      if (!built) throw new Error(`${path} is not among the parts of Prettier that are built`);
      return { path: built, external: true };
    });
  },
});

async function buildWorkers(prettier) {
  const { metafile } = await build({
    ...common,
    entryPoints: Object.values(WORKERS),
    plugins: [withPrettier(prettier)],
    // All of them hold the same worker of the editor.
    splitting: true,
  });
  const files = Object.entries(WORKERS).map(([label, source]) => {
    const made = outputOf(metafile, (output) => output.entryPoint?.endsWith(source));
    return [label, `./${basename(made)}`];
  });
  return { metafile, files: Object.fromEntries(files) };
}

async function buildEntry(workers, prettier) {
  const { metafile } = await build({
    ...common,
    entryPoints: ["src/entry.jsx"],
    splitting: true,
    jsx: "automatic",
    plugins: [withPrettier(prettier), withoutMonacoStyles, withoutUnusedFeatures, withoutFontsOfFewWords],
    define: { WORKERS: JSON.stringify(workers), "process.env.USE_IMPORT": '"true"' },
  });
  const script = outputOf(metafile, (output) => output.entryPoint === "src/entry.jsx");
  return { metafile, script, styles: metafile.outputs[script].cssBundle };
}

function outputOf(metafile, matches) {
  const found = Object.entries(metafile.outputs).find(([, output]) => matches(output));
  if (!found) throw new Error("the bundle lacks an expected file");
  return found[0];
}

/** The folders under node_modules whose files went into a bundle. */
function bundledPackages(metafiles) {
  const folders = metafiles
    .flatMap((metafile) => Object.keys(metafile.inputs))
    .map((path) => /^.*node_modules\/(?:@[^/]+\/)?[^/]+/.exec(path)?.[0])
    .filter(Boolean);
  return [...new Set(folders)].sort();
}

async function licenceOf(folder) {
  const { name, version, license } = JSON.parse(await readFile(join(folder, "package.json"), "utf8"));
  const files = (await readdir(folder))
    .filter((file) => /^(licen[cs]e|copying|notice|third-?party-?notices)/i.test(file))
    .sort();
  const texts = await Promise.all(files.map((file) => readFile(join(folder, file), "utf8")));
  const text = texts.map((each) => sortSections(each.trim())).join("\n\n");
  return { title: `${name} ${version} (${license})`, text };
}

/** Sorts texts so that those that are alike lie together: then they take little room, packed. */
function sortAlike(texts, key = (text) => text) {
  const order = (one, other) => key(other).length - key(one).length || (key(one) < key(other) ? -1 : 1);
  return [...texts].sort(order);
}

/** Sorts the sections of a file with the licences of others, each with its text behind `> `. */
function sortSections(text) {
  const rule = `\n\n${"-".repeat(40)}\n\n`;
  const [first, ...sections] = text.split(rule);
  const quoted = (section) => section.slice(section.indexOf("\n> ") + 1);
  return [first, ...sortAlike(sections, quoted)].join(rule);
}

/** The licences, each text once behind the names of all packages that have it. */
function joinEqual(licences) {
  const titles = new Map();
  for (const { title, text } of licences) titles.set(text, [...(titles.get(text) ?? []), title]);
  return sortAlike(titles.keys()).map((text) =>
    [[...new Set(titles.get(text))].join("\n"), text].join("\n\n").trim(),
  );
}

async function writeLicences(metafiles) {
  const parts = joinEqual(await Promise.all(bundledPackages(metafiles).map(licenceOf)));
  const fonts = await readFile("src/fonts.txt", "utf8");
  const rule = `\n\n${"-".repeat(80)}\n\n`;
  const text = `${[...parts, fonts.trim()].join(rule)}\n`;
  const hash = createHash("sha256").update(text).digest("hex").slice(0, 8);
  const file = join(assets, `licences-${hash}.txt`);
  await writeFile(file, text);
  return file;
}

/** The page with its assets named; the server puts in the settings, and knows the folder. */
async function writePage(files) {
  const template = await readFile("src/page.html", "utf8");
  const page = Object.entries(files).reduce(
    (text, [name, file]) => text.replace(`{{${name}}}`, `{{assets}}/${relative(assets, file)}`),
    template,
  );
  await writeFile(join(out, "index.html"), page);
}

/** Keeps a file compressed only: the package stays small, and nearly every client takes gzip. */
async function compress(file) {
  const content = await readFile(file);
  await writeFile(`${file}.gz`, await promisify(gzip)(content, { level: constants.Z_BEST_COMPRESSION }));
  await rm(file);
}

async function main() {
  await rm(out, { recursive: true, force: true });
  await mkdir(assets, { recursive: true });
  const prettier = await buildPrettier();
  const workers = await buildWorkers(prettier.files);
  const entry = await buildEntry(workers.files, prettier.files);
  const licences = await writeLicences([prettier.metafile, workers.metafile, entry.metafile]);
  await writePage({ script: entry.script, styles: entry.styles, licences });
  const files = await readdir(assets);
  await Promise.all(files.map((file) => compress(join(assets, file))));
}

await main();
