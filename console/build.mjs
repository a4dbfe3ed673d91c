// Bundles the console into the folder named on the command line: index.html, assets/, documents.json
// and sizes.json. Fails if a budget is exceeded.

import { createHash } from "node:crypto";
import { copyFile, mkdir, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { basename, join, relative } from "node:path";
import { promisify } from "node:util";
import { constants, gzip } from "node:zlib";
import { build } from "esbuild";

/** The most bytes, compressed: of the first load's scripts and styles, and of a screen's own. */
const BUDGET = { script: 110 * 1024, styles: 15 * 1024, screen: 30 * 1024 };

const ENTRY = "app/entry.tsx";
const out = process.argv[2] ?? "dist";
const assets = join(out, "assets");
const pack = (content) => promisify(gzip)(content, { level: constants.Z_BEST_COMPRESSION });

async function bundle() {
  const { metafile } = await build({
    outdir: assets,
    entryPoints: [ENTRY],
    entryNames: "[name]-[hash]",
    chunkNames: "[name]-[hash]",
    assetNames: "[name]-[hash]",
    bundle: true,
    splitting: true,
    format: "esm",
    target: "es2022",
    jsx: "automatic",
    minify: true,
    metafile: true,
    legalComments: "none",
    logLevel: "warning",
    define: { "process.env.NODE_ENV": '"production"' },
  });
  return metafile;
}

/** The folders under node_modules whose files went into the bundle. */
function bundledPackages(metafile) {
  const folders = Object.keys(metafile.inputs).map(
    (path) => /^.*node_modules\/(?:@[^/]+\/)?[^/]+/.exec(path)?.[0],
  );
  return [...new Set(folders.filter(Boolean))].sort();
}

async function licenceOf(folder) {
  const { name, version, license } = JSON.parse(
    await readFile(join(folder, "package.json"), "utf8"),
  );
  const files = (await readdir(folder))
    .filter((file) => /^(licen[cs]e|copying|notice)/i.test(file))
    .sort();
  const texts = await Promise.all(files.map((file) => readFile(join(folder, file), "utf8")));
  return [`${name} ${version} (${license})`, ...texts.map((text) => text.trim())].join("\n\n");
}

async function writeLicences(metafile) {
  const parts = await Promise.all(bundledPackages(metafile).map(licenceOf));
  const text = `${parts.join(`\n\n${"-".repeat(80)}\n\n`)}\n`;
  const hash = createHash("sha256").update(text).digest("hex").slice(0, 8);
  const file = join(assets, `licences-${hash}.txt`);
  await writeFile(file, text);
  return file;
}

/** The page with its assets named; the server puts in the settings, and knows the folder. */
async function writePage(files) {
  const template = await readFile("app/page.html", "utf8");
  const page = Object.entries(files).reduce(
    (text, [name, file]) => text.replace(`{{${name}}}`, `{{assets}}/${relative(assets, file)}`),
    template,
  );
  await writeFile(join(out, "index.html"), page);
}

/** The files that a file imports when it is loaded, itself included. */
function loadedWith(metafile, file, found = new Set()) {
  if (found.has(file)) return found;
  found.add(file);
  for (const { path, kind } of metafile.outputs[file].imports) {
    if (kind === "import-statement") loadedWith(metafile, path, found);
  }
  return found;
}

async function sizeOf(files) {
  const sizes = await Promise.all(
    [...files].map(async (file) => (await pack(await readFile(file))).length),
  );
  return sizes.reduce((sum, size) => sum + size, 0);
}

/** Bytes, compressed: the first load's scripts and styles, and what each screen adds. */
async function measure(metafile, script, styles) {
  const first = loadedWith(metafile, script);
  const screens = Object.entries(metafile.outputs).filter(([, { entryPoint }]) =>
    entryPoint?.startsWith("screens/"),
  );
  const added = await Promise.all(
    screens.map(async ([file, { entryPoint }]) => [
      entryPoint,
      await sizeOf(
        loadedWith(metafile, file).difference?.(first) ??
          [...loadedWith(metafile, file)].filter((one) => !first.has(one)),
      ),
    ]),
  );
  return {
    script: await sizeOf(first),
    styles: await sizeOf([styles]),
    screens: Object.fromEntries(added.sort()),
  };
}

function check(sizes) {
  const found = [
    ["the first load's scripts", sizes.script, BUDGET.script],
    ["the styles", sizes.styles, BUDGET.styles],
    ...Object.entries(sizes.screens).map(([name, size]) => [name, size, BUDGET.screen]),
  ];
  const over = found
    .filter(([, size, most]) => size > most)
    .map(([name, size, most]) => `${name}: ${size} of ${most} bytes`);
  if (over.length > 0) throw new Error(`over the budget (gzip): ${over.join("; ")}`);
}

/** Keeps a file compressed only: the package stays small, and nearly every client takes gzip. */
async function compress(file) {
  await writeFile(`${file}.gz`, await pack(await readFile(file)));
  await rm(file);
}

async function main() {
  await rm(out, { recursive: true, force: true });
  await mkdir(assets, { recursive: true });
  const metafile = await bundle();
  const script = Object.keys(metafile.outputs).find(
    (name) => metafile.outputs[name].entryPoint === ENTRY,
  );
  const styles = metafile.outputs[script].cssBundle;
  const licences = await writeLicences(metafile);
  const sizes = await measure(metafile, script, styles);
  await writeFile(join(out, "sizes.json"), `${JSON.stringify(sizes, null, 1)}\n`);
  check(sizes);
  await writePage({ script, styles, licences });
  await copyFile("graphql/generated/documents.json", join(out, "documents.json"));
  await Promise.all((await readdir(assets)).map((file) => compress(join(assets, basename(file)))));
}

await main();
