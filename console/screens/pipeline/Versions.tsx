import { useAnswer, usePages } from "../../app/queries";
import { PipelineDiff, PipelineVersions } from "../../graphql/generated/pipeline";
import { useAddress } from "../../parts/address";
import { Differences } from "../../parts/Differences";
import { ChoiceField } from "../../parts/fields";
import { StateBadge } from "../../parts/marks";
import { VersionTable } from "../../parts/VersionTable";
import { Answered, More, PendingList } from "../../parts/state";
import type { ShownPipeline } from "./Pipeline";

/** All versions, and two of them side by side. */
export function Versions({ pipeline }: { pipeline: ShownPipeline }) {
  const { id, owner, version: newest } = pipeline;
  const { search, change } = useAddress();
  const to = Number(search.get("to") ?? newest);
  const from = Number(search.get("from") ?? Math.max(1, to - 1));
  const pages = usePages(PipelineVersions, { id }, (page) => page.pipeline?.versions);
  const diff = useAnswer(PipelineDiff, { id, from, to }, { enabled: from !== to, keep: true });
  if (!pages.nodes) return <PendingList pages={pages} what="versions" />;
  const numbers = Array.from({ length: newest }, (_, index) => String(newest - index));
  return (
    <>
      {newest > 1 ? (
        <section className="stack tight" aria-label="Difference">
          <h2>Difference of two versions</h2>
          <div className="row">
            {(
              [
                ["From version", "from", from],
                ["To version", "to", to],
              ] as const
            ).map(([label, name, value]) => (
              <ChoiceField
                key={name}
                label={label}
                value={String(value)}
                choices={numbers.map((number) => [number, number])}
                onChange={(number) => change({ [name]: number })}
              />
            ))}
          </div>
          {from === to ? (
            <p className="muted">Choose two different versions.</p>
          ) : (
            <Answered query={diff} what="the difference">
              {(data) => <Differences changes={data.pipeline?.diff ?? []} />}
            </Answered>
          )}
        </section>
      ) : (
        <p className="muted">There is one version so far, so there is nothing to compare.</p>
      )}
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
