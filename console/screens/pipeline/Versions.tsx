import { usePages } from "../../app/queries";
import { PipelineDiff, PipelineVersions } from "../../graphql/generated/pipeline";
import { StateBadge } from "../../parts/marks";
import { More, PendingList } from "../../parts/state";
import { VersionDifference } from "../../parts/VersionDifference";
import { VersionTable } from "../../parts/VersionTable";
import type { ShownPipeline } from "./shownPipeline";

/** All versions, and two of them side by side. */
export function Versions({ pipeline }: { pipeline: ShownPipeline }) {
  const { id, owner, version: newest } = pipeline;
  const pages = usePages(PipelineVersions, { id }, (page) => page.pipeline?.versions);
  if (!pages.nodes) return <PendingList pages={pages} what="versions" />;
  return (
    <>
      <VersionDifference
        id={id}
        newest={newest}
        operation={PipelineDiff}
        changesOf={({ pipeline: found }) => found?.diff}
      />
      <section className="stack tight" aria-label="Versions">
        <h2>Versions</h2>
        <VersionTable
          id={id}
          owner={owner}
          newest={newest}
          versions={pages.nodes}
          about={{
            Name: ({ name }) => name,
            State: ({ state }) => <StateBadge state={state} />,
          }}
        />
        <More pages={pages} what="versions" />
      </section>
    </>
  );
}
