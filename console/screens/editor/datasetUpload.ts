import { useState } from "react";
import { useTurns } from "../../parts/turns";
import { type DatasetFile, readDatasetFile } from "./datasetFile";
import type { Draft } from "./draft";
import type { DatasetUpload } from "./savingDataset";

interface Sending {
  sent: number;
  cancel: () => void;
}

/** The file that is chosen for a dataset, and its upload while it is sent. */
export function useDatasetUpload() {
  const [chosen, setChosen] = useState<DatasetFile | null>(null);
  const [sending, setSending] = useState<Sending | null>(null);
  const beginTurn = useTurns();
  return {
    chosen,
    sending,
    /** Look at a file; null if another one was chosen meanwhile. */
    choose: async (file: File) => {
      const isLast = beginTurn();
      const read = await readDatasetFile(file);
      if (!isLast()) return null;
      setChosen(read);
      return read;
    },
    /** What is sent with the dataset; null if no file was chosen. */
    begin: (): DatasetUpload | null => {
      if (chosen === null) return null;
      const stop = new AbortController();
      const cancel = () => stop.abort();
      setSending({ sent: 0, cancel });
      return {
        chosen,
        signal: stop.signal,
        onProgress: (sent) => setSending({ sent, cancel }),
      };
    },
    end: () => setSending(null),
  };
}

/** Whether a dataset can be saved: a new one needs its file, and a file has a key. */
export function canSave(draft: Draft, chosen: DatasetFile | null): boolean {
  if (chosen === null) return draft.version !== null;
  return chosen.problems.length === 0 && draft.keyColumns.length > 0;
}
