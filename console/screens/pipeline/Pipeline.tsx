import { FileUp, Rows3 } from "lucide-react";
import { Link } from "wouter";
import { useAnswer } from "../../app/queries";
import { PipelineDetails } from "../../graphql/generated/pipeline";
import { pathOf, useAddress } from "../../parts/address";
import { AsAt, missingAsAt } from "../../parts/AsAt";
import { OfRole, useRoles } from "../../parts/denial";
import { EditLink, Time } from "../../parts/marks";
import { ResourceHead } from "../../parts/ResourceHead";
import { mayRun } from "../../parts/roles";
import { Answered } from "../../parts/state";
import { presentTab, Tabs } from "../../parts/Tabs";
import { useTitle } from "../../parts/title";
import { TransformerTable } from "../../parts/TransformerTable";
import { Access } from "./Access";
import { Lineage } from "./Lineage";
import { PipelineRuns } from "./PipelineRuns";
import type { ShownPipeline } from "./shownPipeline";
import { Versions } from "./Versions";

const TABS = ["Transforms", "Versions", "Executions", "Access", "Lineage"] as const;

/** Those that show the pipeline as it was; the others are as they are now. */
const TABS_IN_TIME: readonly string[] = ["Transforms", "Lineage"];

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
            <Tabs names={TABS} label="Parts of the pipeline" />
            {asAt !== null || (tab !== undefined && TABS_IN_TIME.includes(tab)) ? (
              <AsAt key="at" />
            ) : null}
            {tab === "Transforms" ? (
              <TransformerTable transformer={pipeline.transformer} group={pipeline.owner} />
            ) : null}
            {tab === "Versions" ? <Versions pipeline={pipeline} /> : null}
            {tab === "Executions" ? <PipelineRuns id={id} /> : null}
            {tab === "Access" ? <Access id={id} owner={pipeline.owner} /> : null}
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
  const { id, owner, updatedAt, updatedBy, activeFrom, transformer } = pipeline;
  const roles = useRoles();
  const isRunner = roles !== undefined && mayRun(roles, pipeline);
  return (
    <ResourceHead
      list={["/", "Pipelines"]}
      resource={pipeline}
      denied={isRunner ? "Changing it" : "Changing and running it"}
      about={
        <>
          , <Time at={updatedAt} /> by {updatedBy}
          {activeFrom === updatedAt ? null : (
            <>
              , active from <Time at={activeFrom} />
            </>
          )}
        </>
      }
    >
      <div className="row">
        <OfRole role="CONTRIBUTOR" at={owner}>
          <EditLink kind="pipelines" id={id} />
        </OfRole>
        {transformer.rows ? (
          <Link className="button" href={`${pathOf("pipelines", id)}/rows`}>
            <Rows3 size={16} aria-hidden /> Rows
          </Link>
        ) : null}
        {isRunner ? (
          <Link className="button primary" href={`${pathOf("pipelines", id)}/run`}>
            <FileUp size={16} aria-hidden /> Run a file
          </Link>
        ) : null}
      </div>
    </ResourceHead>
  );
}
