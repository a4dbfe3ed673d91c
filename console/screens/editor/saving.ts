import type { Api } from "../../app/api";
import { payloadOf } from "../../app/failure";
import {
  DeleteCalculation,
  DeletePipeline,
  EditedCalculation,
  EditedPipeline,
  SaveCalculation,
  SaveNewCalculation,
  SaveNewPipeline,
  SavePipeline,
} from "../../graphql/generated/editor";
import {
  calculationContent,
  type Draft,
  draftOfCalculation,
  draftOfPipeline,
  type EditedKind,
  pipelineContent,
} from "./draft";

/** Read what is edited as it is now; null if it is gone. */
export async function readDraft(api: Api, kind: EditedKind, id: string): Promise<Draft | null> {
  if (kind === "pipeline") {
    const { pipeline } = await api.run(EditedPipeline, { id });
    return pipeline ? draftOfPipeline(pipeline) : null;
  }
  const { calculation } = await api.run(EditedCalculation, { id });
  return calculation ? draftOfCalculation(calculation) : null;
}

/** Save a draft over the version that it was read from; returns the id. Throws a Failure. */
export async function saveDraft(
  api: Api,
  kind: EditedKind,
  id: string | null,
  draft: Draft,
): Promise<string> {
  if (id === null) return createFrom(api, kind, draft);
  const update = { id, expectedVersion: draft.version ?? 0, state: draft.state };
  if (kind === "pipeline") {
    const input = { ...pipelineContent(draft), ...update };
    return payloadOf((await api.run(SavePipeline, { input })).updatePipeline).pipeline.id;
  }
  const input = { ...calculationContent(draft), ...update };
  return payloadOf((await api.run(SaveCalculation, { input })).updateCalculation).calculation.id;
}

async function createFrom(api: Api, kind: EditedKind, draft: Draft): Promise<string> {
  const group = draft.group || null;
  if (kind === "pipeline") {
    const input = { ...pipelineContent(draft), group };
    return payloadOf((await api.run(SaveNewPipeline, { input })).createPipeline).pipeline.id;
  }
  const input = { ...calculationContent(draft), group };
  return payloadOf((await api.run(SaveNewCalculation, { input })).createCalculation).calculation.id;
}

export async function deleteEdited(api: Api, kind: EditedKind, id: string): Promise<void> {
  const input = { id };
  if (kind === "pipeline") payloadOf((await api.run(DeletePipeline, { input })).deletePipeline);
  else payloadOf((await api.run(DeleteCalculation, { input })).deleteCalculation);
}
