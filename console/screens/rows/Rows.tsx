import { FileUp } from "lucide-react";
import { Link } from "wouter";
import { useAnswer } from "../../app/queries";
import { RowPipeline } from "../../graphql/generated/rows";
import type { RowPipelineQuery } from "../../graphql/generated/types";
import { pathOf, useAddress } from "../../parts/address";
import { OfRole, useRoles } from "../../parts/denial";
import { EveryField, readEvery } from "../../parts/EveryField";
import { BelowField, ChoiceField, GroupField } from "../../parts/fields";
import { mayRun } from "../../parts/roles";
import { Answered, Empty, Missing } from "../../parts/state";
import { SpanField } from "../../parts/SpanField";
import { TimeField } from "../../parts/TimeRange";
import { useTitle } from "../../parts/title";
import { readConditions, RowConditions } from "./RowConditions";
import type { RowOutput } from "./rowOutputs";
import { RowTable } from "./RowTable";
import { Totals } from "./Totals";

type Keeper = NonNullable<RowPipelineQuery["pipeline"]>;

/** The rows that a pipeline keeps: totals over time, and the rows that they are made of. */
export default function Rows({ id }: { id: string }) {
  const query = useAnswer(RowPipeline, { id });
  useTitle(query.data?.pipeline ? `Rows of ${query.data.pipeline.name}` : undefined);
  return (
    <Answered query={query} what="the pipeline">
      {({ pipeline }) => (pipeline ? <Kept pipeline={pipeline} /> : <Missing what="pipeline" />)}
    </Answered>
  );
}

function Kept({ pipeline }: { pipeline: Keeper }) {
  const { id, name, owner, transformer } = pipeline;
  const roles = useRoles();
  return (
    <>
      <header>
        <div className="stack tight grow">
          <p className="crumbs">
            <Link href="/">Pipelines</Link> · {owner} ·{" "}
            <Link href={pathOf("pipelines", id)}>{name}</Link>
          </p>
          <h1>Rows of {name}</h1>
        </div>
        {transformer.rows && roles && mayRun(roles, pipeline) ? (
          <Link className="button primary" href={`${pathOf("pipelines", id)}/run`}>
            <FileUp size={16} aria-hidden /> Add or correct rows
          </Link>
        ) : null}
      </header>
      {transformer.rows ? (
        <KeptRowsOf pipeline={pipeline} keys={transformer.rows.key} />
      ) : (
        <Empty title="This pipeline keeps no rows">
          <p>
            Its outputs are in files only.{" "}
            <OfRole role="CONTRIBUTOR" at={owner}>
              <Link href={`${pathOf("pipelines", id)}/edit`}>Edit</Link> it to say which outputs
              identify a row.
            </OfRole>
          </p>
        </Empty>
      )}
    </>
  );
}

function KeptRowsOf({ pipeline, keys }: { pipeline: Keeper; keys: readonly string[] }) {
  const { search, change } = useAddress();
  const outputs: RowOutput[] = pipeline.transformer.transforms.flatMap(({ outputs: all }) =>
    all.flatMap(({ key, label, type }) => (key ? [{ key, label: label ?? key, type }] : [])),
  );
  const numbers = outputs.filter(({ type }) => type === "NUMBER");
  const texts = outputs.filter(({ type }) => type === "STRING");
  const hasTime = Boolean(pipeline.transformer.rows?.time);
  const sum = numbers.find(({ key }) => key === search.get("sum")) ?? numbers[0];
  const by = texts.find(({ key }) => key === search.get("by"));
  const every = hasTime ? readEvery(search) : null;
  const filter = {
    group: search.get("group"),
    from: search.get("from"),
    to: search.get("to"),
    asAt: search.get("at"),
    below: search.get("below") !== "no",
    where: readConditions(search, outputs),
  };
  return (
    <>
      <form
        className="filters"
        aria-label="Which rows"
        onSubmit={(event) => event.preventDefault()}
      >
        <GroupField
          value={filter.group ?? ""}
          placeholder="all that you see"
          onChange={(group) => change({ group })}
        />
        <BelowField checked={filter.below} />
        {hasTime ? (
          <>
            <SpanField span={filter} isUtc onChange={(span) => change({ ...span })} />
            <TimeField label="From" value={filter.from} onChange={(from) => change({ from })} />
            <TimeField label="Before" value={filter.to} onChange={(to) => change({ to })} />
          </>
        ) : null}
        <TimeField label="As it was at" value={filter.asAt} onChange={(at) => change({ at })} />
        {numbers.length > 1 ? (
          <Choice label="Sum of" options={numbers} value={sum?.key} name="sum" />
        ) : null}
        {every ? <EveryField value={every} /> : null}
        {texts.length > 0 ? (
          <Choice label="For each" options={texts} value={by?.key} name="by" none="all together" />
        ) : null}
      </form>
      <RowConditions outputs={outputs} />
      {sum ? <Totals id={pipeline.id} filter={filter} sum={sum} every={every} by={by} /> : null}
      <RowTable id={pipeline.id} filter={filter} outputs={outputs} keys={keys} />
    </>
  );
}

interface ChoiceProps {
  label: string;
  name: string;
  options: readonly RowOutput[];
  value: string | undefined;
  /** The words for no choice, if there may be none. */
  none?: string;
}

function Choice({ label, name, options, value, none }: ChoiceProps) {
  const { change } = useAddress();
  return (
    <ChoiceField
      label={label}
      value={value ?? ""}
      choices={[
        ...(none ? [["", none] as const] : []),
        ...options.map(({ key, label: words }) => [key, words] as const),
      ]}
      onChange={(key) => change({ [name]: key })}
    />
  );
}
