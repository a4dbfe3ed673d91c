import type { Api } from "../../app/api";
import { payloadOf } from "../../app/failure";
import {
  DeleteCalculation,
  DeleteDataset,
  DeleteMetric,
  DeletePipeline,
  EditedCalculation,
  EditedDataset,
  EditedMetric,
  EditedPipeline,
  SaveCalculation,
  SaveMetric,
  SaveNewCalculation,
  SaveNewMetric,
  SaveNewPipeline,
  SavePipeline,
} from "../../graphql/generated/editor";
import {
  calculationContent,
  type Draft,
  draftOfCalculation,
  draftOfDataset,
  draftOfMetric,
  draftOfPipeline,
  type EditedKind,
  metricContent,
  metricInputs,
  pipelineContent,
} from "./draft";

/** A dataset is saved with its file. */
export type KindWithoutFile = Exclude<EditedKind, "dataset">;

/** Read what is edited as it is now; null if it is gone. */
export async function readDraft(api: Api, kind: EditedKind, id: string): Promise<Draft | null> {
  switch (kind) {
    case "pipeline": {
      const { pipeline } = await api.run(EditedPipeline, { id });
      return pipeline ? draftOfPipeline(pipeline) : null;
    }
    case "calculation": {
      const { calculation } = await api.run(EditedCalculation, { id });
      return calculation ? draftOfCalculation(calculation) : null;
    }
    case "metric": {
      const { metric } = await api.run(EditedMetric, { id });
      return metric ? draftOfMetric(metric) : null;
    }
    case "dataset": {
      const { dataset } = await api.run(EditedDataset, { id });
      return dataset ? draftOfDataset(dataset) : null;
    }
  }
}

/** Save a draft over the version that `base` was read from; returns the id. Throws a Failure. */
export async function saveDraft(
  api: Api,
  kind: KindWithoutFile,
  id: string | null,
  draft: Draft,
  base: Draft,
): Promise<string> {
  if (id === null) return createFrom(api, kind, draft);
  const update = versionFields(id, draft, base);
  switch (kind) {
    case "pipeline": {
      const input = { ...pipelineContent(draft), ...update };
      return payloadOf((await api.run(SavePipeline, { input })).updatePipeline).pipeline.id;
    }
    case "calculation": {
      const input = { ...calculationContent(draft), ...update };
      const { updateCalculation } = await api.run(SaveCalculation, { input });
      return payloadOf(updateCalculation).calculation.id;
    }
    case "metric": {
      const inputs = metricInputs(draft);
      const input = { ...metricContent(draft), ...(inputs ? { inputs } : {}), ...update };
      return payloadOf((await api.run(SaveMetric, { input })).updateMetric).metric.id;
    }
  }
}

/** The fields of an update over the version that `base` was read from. */
export function versionFields(id: string, draft: Draft, base: Draft) {
  const { version, state, activeFrom } = draft;
  // Without it, the start of the version before is kept.
  const start = activeFrom === base.activeFrom ? {} : { activeFrom };
  return { id, expectedVersion: version ?? 0, state, ...start };
}

async function createFrom(api: Api, kind: KindWithoutFile, draft: Draft): Promise<string> {
  const { activeFrom } = draft;
  const group = draft.group || null;
  switch (kind) {
    case "pipeline": {
      const input = { ...pipelineContent(draft), group, activeFrom };
      return payloadOf((await api.run(SaveNewPipeline, { input })).createPipeline).pipeline.id;
    }
    case "calculation": {
      const input = { ...calculationContent(draft), group, activeFrom };
      const { createCalculation } = await api.run(SaveNewCalculation, { input });
      return payloadOf(createCalculation).calculation.id;
    }
    case "metric": {
      const inputs = metricInputs(draft) ?? [];
      const input = { ...metricContent(draft), inputs, group, activeFrom };
      return payloadOf((await api.run(SaveNewMetric, { input })).createMetric).metric.id;
    }
  }
}

export async function deleteEdited(api: Api, kind: EditedKind, id: string): Promise<void> {
  const input = { id };
  switch (kind) {
    case "pipeline":
      payloadOf((await api.run(DeletePipeline, { input })).deletePipeline);
      return;
    case "calculation":
      payloadOf((await api.run(DeleteCalculation, { input })).deleteCalculation);
      return;
    case "metric":
      payloadOf((await api.run(DeleteMetric, { input })).deleteMetric);
      return;
    case "dataset":
      payloadOf((await api.run(DeleteDataset, { input })).deleteReferenceDataset);
  }
}
