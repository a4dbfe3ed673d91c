import { FileUp, Pencil, Rows3 } from "lucide-react";
import { Link } from "wouter";
import { useAnswer } from "../../app/queries";
import { PipelineDetails } from "../../graphql/generated/pipeline";
import type { PipelineDetailsQuery } from "../../graphql/generated/types";
import { pathOf, useAddress } from "../../parts/address";
import { AsAt, missingAsAt } from "../../parts/AsAt";
import { CopyButton, StateBadge, TagPills, Time } from "../../parts/marks";
import { Answered } from "../../parts/state";
import { presentTab, Tabs } from "../../parts/Tabs";
import { useTitle } from "../../parts/title";
import { TransformerTable } from "../../parts/TransformerTable";
import { Access } from "./Access";
import { Lineage } from "./Lineage";
import { PipelineRuns } from "./PipelineRuns";
import { Versions } from "./Versions";

export type ShownPipeline = NonNullable<PipelineDetailsQuery["pipeline"]>;

const TABS = ["Transforms", "Versions", "Executions", "Access", "Lineage"] as const;

/** A pipeline as it is, or as it was at a time. */
export default function Pipeline({ id }: { id: string }) {
  const { search } = useAddress();
  const asAt = search.get("at");
  const query = useAnswer(PipelineDetails, { id, asAt }, { keep: true });
  useTitle(query.data?.pipeline?.name);
  const tab = presentTab(search, TABS);
  const missing = missingAsAt("pipeline", asAt);
  return (
    <Answered query={query} what="the pipeline" missing={missing}>
      {({ pipeline }) =>
        pipeline ? (
          <>
            <Head pipeline={pipeline} />
            <AsAt key="at" />
            <Tabs names={TABS} label="Parts of the pipeline" />
            {tab === "Transforms" ? (
              <TransformerTable transformer={pipeline.transformer} group={pipeline.owner} />
            ) : null}
            {tab === "Versions" ? <Versions id={id} newest={pipeline.version} /> : null}
            {tab === "Executions" ? <PipelineRuns id={id} /> : null}
            {tab === "Access" ? <Access id={id} /> : null}
            {tab === "Lineage" ? <Lineage pipeline={pipeline} /> : null}
          </>
        ) : (
          missing
        )
      }
    </Answered>
  );
}

function Head({ pipeline }: { pipeline: ShownPipeline }) {
  const { id, name, description, owner, version, state, tags, updatedAt, updatedBy } = pipeline;
  const { activeFrom, transformer } = pipeline;
  return (
    <header>
      <div className="stack tight grow">
        <p className="crumbs">
          <Link href="/">Pipelines</Link> · {owner}
        </p>
        <h1>{name}</h1>
        {description ? <p>{description}</p> : null}
        <p className="row middle">
          <StateBadge state={state} />
          <span className="muted">
            version {version}, <Time at={updatedAt} /> by {updatedBy}
            {activeFrom === updatedAt ? null : (
              <>
                , active from <Time at={activeFrom} />
              </>
            )}
          </span>
          <CopyButton text={id} what="the id" />
        </p>
        <TagPills tags={tags} />
      </div>
      <div className="row">
        <Link className="button" href={`${pathOf("pipelines", id)}/edit`}>
          <Pencil size={16} aria-hidden /> Edit
        </Link>
        {transformer.rows ? (
          <Link className="button" href={`${pathOf("pipelines", id)}/rows`}>
            <Rows3 size={16} aria-hidden /> Rows
          </Link>
        ) : null}
        <Link className="button primary" href={`${pathOf("pipelines", id)}/run`}>
          <FileUp size={16} aria-hidden /> Run a file
        </Link>
      </div>
    </header>
  );
}
