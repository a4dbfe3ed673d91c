// Checks the types of the sources, then the rules of eslint.config.js, on one program: the linter's
// own would check all types again.

import { ESLint } from "eslint";
import ts from "typescript";

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

const read = ts.getParsedCommandLineOfConfigFile("tsconfig.json", {}, host);
const program = ts.createProgram(read.fileNames, read.options);
const faults = [...read.errors, ...ts.getPreEmitDiagnostics(program)];
if (faults.length > 0) fail(formatFaults(faults));

const parserOptions = { projectService: false, programs: [program] };
const linter = new ESLint({
  overrideConfig: { files: ["**/*.{ts,tsx}"], languageOptions: { parserOptions } },
});
const results = await linter.lintFiles(["."]);
if (results.some(({ errorCount, warningCount }) => errorCount + warningCount > 0)) {
  fail(await (await linter.loadFormatter("stylish")).format(results));
}
