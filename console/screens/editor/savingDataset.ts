import type { Api } from "../../app/api";
import { payloadOf } from "../../app/failure";
import {
  LoadDataset,
  OpenDatasetUpload,
  SaveDataset,
  SaveNewDataset,
} from "../../graphql/generated/editor";
import { pathOf } from "../../parts/address";
import { sendFile } from "../../parts/upload";
import { compareDrafts } from "./comparison";
import { type DatasetFile, headerLine } from "./datasetFile";
import { columnInputs, commonContent, type Draft } from "./draft";
import { versionFields } from "./saving";

export interface SavedDataset {
  id: string;
  /** The job that loads its file; null if it has its rows. */
  job: string | null;
}

/** The screen of a saved dataset, which follows the job that loads it. */
export function pathOfDataset({ id, job }: SavedDataset): string {
  const path = pathOf("datasets", id);
  return job === null ? path : `${path}?${new URLSearchParams({ job }).toString()}`;
}

/** What was saved, and what is still to come. */
export function describeSaved(name: string, { job }: SavedDataset): string {
  return job === null
    ? `The dataset ${name} is saved.`
    : `The dataset ${name} is saved; a job loads its rows.`;
}

/** The file that a dataset gets, and how its upload is watched and ended. */
export interface DatasetUpload {
  chosen: DatasetFile;
  signal: AbortSignal;
  onProgress: (sent: number) => void;
}

interface Sent {
  upload: string;
  isLarge: boolean;
  header: readonly string[];
}

/** Save a dataset with the file that was chosen, if one was. Throws a Failure. */
export async function saveDataset(
  api: Api,
  id: string | null,
  draft: Draft,
  base: Draft,
  upload: DatasetUpload | null,
): Promise<SavedDataset> {
  const sent = upload && (await send(api, draft.group, upload));
  const saved =
    id === null ? await create(api, draft, sent) : await update(api, id, draft, base, sent);
  if (!sent?.isLarge) return { id: saved.id, job: null };
  const input = { id: saved.id, expectedVersion: saved.version, content: contentOf(draft, sent) };
  const { loadReferenceDataset } = await api.run(LoadDataset, { input });
  return { id: saved.id, job: payloadOf(loadReferenceDataset).job.id };
}

async function send(api: Api, group: string, upload: DatasetUpload): Promise<Sent> {
  const { file, header, isLarge } = upload.chosen;
  const input = { group, ...(isLarge ? { maxBytes: file.size } : {}) };
  const opened = payloadOf((await api.run(OpenDatasetUpload, { input })).createDatasetUpload);
  await sendFile(opened.upload.form, file, upload.signal, upload.onProgress);
  return { upload: opened.upload.id, isLarge, header };
}

const contentOf = (draft: Draft, { upload }: Sent) => ({ ...shapeOf(draft), upload });

const shapeOf = (draft: Draft) => ({
  columns: columnInputs(draft),
  keyColumns: [...draft.keyColumns],
});

/** One whose file is loaded afterwards begins with the header alone. */
async function create(api: Api, draft: Draft, sent: Sent | null) {
  const { activeFrom, group } = draft;
  const content =
    sent && !sent.isLarge
      ? contentOf(draft, sent)
      : { ...shapeOf(draft), csv: headerLine(draft.columns.map(({ name }) => name)) };
  const input = { ...commonContent(draft), group: group || null, activeFrom, content };
  const { createReferenceDataset } = await api.run(SaveNewDataset, { input });
  return payloadOf(createReferenceDataset).referenceDataset;
}

async function update(api: Api, id: string, draft: Draft, base: Draft, sent: Sent | null) {
  const { columns, keyColumns } = base;
  const isSame = compareDrafts(base, { ...draft, columns, keyColumns }).length === 0;
  // A load makes a version of its own.
  if (sent?.isLarge && isSame) return { id, version: draft.version ?? 0 };
  const input = {
    ...commonContent(draft),
    ...(sent && !sent.isLarge ? { content: contentOf(draft, sent) } : {}),
    ...versionFields(id, draft, base),
  };
  const { updateReferenceDataset } = await api.run(SaveDataset, { input });
  return payloadOf(updateReferenceDataset).referenceDataset;
}
