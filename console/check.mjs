// Checks the types of the sources, that no file imports itself through others, then the rules of
// eslint.config.js, on one program: the linter's own would check all types again.

import { ESLint } from "eslint";
import { relative } from "node:path";
import ts from "typescript";
import { findCircle } from "./findCircle.mjs";

const host = {
  ...ts.sys,
  getCanonicalFileName: (path) => path,
  getNewLine: () => "\n",
  onUnRecoverableConfigFileDiagnostic: (fault) => fail(formatFaults([fault])),
};

const formatFaults = (faults) => ts.formatDiagnostics(faults, host);

function fail(words) {
  console.error(words);
  process.exit(1);
}

/** The files of the console that each of its files imports, also for types only. */
function readImports(program) {
  const own = new Set(read.fileNames);
  const pathOf = (file) => relative("", file);
  const resolve = (file, { fileName }) =>
    ts.resolveModuleName(fileName, file, program.getCompilerOptions(), host).resolvedModule
      ?.resolvedFileName;
  const importsOf = (file) =>
    ts
      .preProcessFile(program.getSourceFile(file).text)
      .importedFiles.map((imported) => resolve(file, imported))
      .filter((imported) => own.has(imported))
      .map(pathOf);
  return new Map([...own].map((file) => [pathOf(file), importsOf(file)]));
}

const read = ts.getParsedCommandLineOfConfigFile("tsconfig.json", {}, host);
const program = ts.createProgram(read.fileNames, read.options);
const faults = [...read.errors, ...ts.getPreEmitDiagnostics(program)];
if (faults.length > 0) fail(formatFaults(faults));

const circle = findCircle(readImports(program));
if (circle) fail(`imports in a circle: ${circle.join(" -> ")}`);

const parserOptions = { projectService: false, programs: [program] };
const linter = new ESLint({
  overrideConfig: { files: ["**/*.{ts,tsx}"], languageOptions: { parserOptions } },
});
const results = await linter.lintFiles(["."]);
if (results.some(({ errorCount, warningCount }) => errorCount + warningCount > 0)) {
  fail(await (await linter.loadFormatter("stylish")).format(results));
}
