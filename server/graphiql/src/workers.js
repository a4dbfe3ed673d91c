/* global WORKERS -- file names by label, put in by the build */

globalThis.MonacoEnvironment = {
  getWorker(_id, label) {
    const file = WORKERS[label] ?? WORKERS.editor;
    return new Worker(new URL(file, import.meta.url), { type: "module" });
  },
};
