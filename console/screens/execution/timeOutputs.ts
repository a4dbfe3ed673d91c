import { useAnswer } from "../../app/queries";
import { PinnedTransforms } from "../../graphql/generated/execution";

/** The headings of the outputs of a version of a pipeline that are timestamps. */
export function useTimeOutputs(id: string, version: number): ReadonlySet<string> {
  const { data } = useAnswer(PinnedTransforms, { id, version });
  const transforms = data?.pipeline?.versionNumbered?.transformer.transforms ?? [];
  return new Set(
    transforms.flatMap(({ outputs }) =>
      outputs.flatMap(({ key, label, type }) => (type === "TIMESTAMP" ? [key ?? label ?? ""] : [])),
    ),
  );
}
