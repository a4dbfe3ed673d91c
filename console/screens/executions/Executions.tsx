import { useQueryClient } from "@tanstack/react-query";
import { useEffect, useRef } from "react";
import { useAnswer, useLive, usePages } from "../../app/queries";
import {
  Executions as ExecutionsPage,
  ExecutionsLive,
  ExecutionTotals,
} from "../../graphql/generated/executions";
import type { ExecutionState, ExecutionsQuery } from "../../graphql/generated/types";
import { useAddress } from "../../parts/address";
import { Field, GroupField } from "../../parts/fields";
import { formatName } from "../../parts/format";
import { StateBadge } from "../../parts/marks";
import { Empty, Loading, Problem } from "../../parts/state";
import { TimeField } from "../../parts/TimeRange";
import { useTitle } from "../../parts/title";
import { readTag } from "../catalogue/tagFilter";
import { ExecutionTable } from "./ExecutionTable";
import { Timeline } from "./Timeline";

const STATES: readonly ExecutionState[] = [
  "WAITING",
  "IN_PROGRESS",
  "SUCCESS",
  "FAILED",
  "CANCELLED",
];

export type Row = ExecutionsQuery["executions"]["nodes"][number];

/** The executions of all pipelines that the caller sees, live. */
export default function Executions() {
  useTitle("Executions");
  const { search, change } = useAddress();
  const client = useQueryClient();
  const scope = { group: search.get("group"), below: search.get("below") !== "no" };
  const states = search
    .getAll("state")
    .filter((one): one is ExecutionState => STATES.some((state) => state === one));
  const tag = readTag(search.get("tag") ?? "");
  const variables = {
    ...scope,
    states: states.length > 0 ? states : null,
    pipeline: search.get("pipeline"),
    tags: tag ? { all: [tag] } : null,
    createdBy: search.get("by"),
    from: search.get("from"),
    to: search.get("to"),
    order: "NEWEST_FIRST" as const,
  };
  const pages = usePages(ExecutionsPage, variables, (page) => page.executions);
  const totals = useAnswer(
    ExecutionTotals,
    { ...scope, pipeline: variables.pipeline },
    { keep: true },
  );
  const refresh = useBatched(() => {
    void client.invalidateQueries({ queryKey: [ExecutionsPage.name] });
    void client.invalidateQueries({ queryKey: [ExecutionTotals.name] });
  });
  useLive(ExecutionsLive, scope, refresh);
  const toggle = (state: ExecutionState) =>
    change({
      state: states.includes(state) ? states.filter((one) => one !== state) : [...states, state],
    });
  return (
    <>
      <header>
        <h1>Executions</h1>
      </header>
      <search className="stack tight">
        <div className="row">
          <GroupField
            value={scope.group ?? ""}
            placeholder="all of your group"
            onChange={(path) => change({ group: path || null })}
          />
          <label className="check">
            <input
              type="checkbox"
              checked={scope.below}
              onChange={(event) => change({ below: event.target.checked ? null : "no" })}
            />
            with groups below
          </label>
          <AddressField label="Created by" name="by" />
          <AddressField label="Tag (key=value)" name="tag" />
          <TimeField
            label="Created from"
            value={variables.from}
            onChange={(from) => change({ from })}
          />
          <TimeField
            label="Created before"
            value={variables.to}
            onChange={(to) => change({ to })}
          />
        </div>
        <fieldset className="row middle">
          <legend className="visually-hidden">States</legend>
          {STATES.map((state) => (
            <label key={state} className="check">
              <input
                type="checkbox"
                checked={states.includes(state)}
                onChange={() => toggle(state)}
              />
              <StateBadge state={state} />
              <span className="muted">
                {totals.data?.executionCounts.find((one) => one.state === state)?.count ?? ""}
              </span>
            </label>
          ))}
        </fieldset>
      </search>
      {pages.error && !pages.nodes ? (
        <Problem error={pages.error} onRetry={() => void pages.refetch()} />
      ) : null}
      {pages.nodes || pages.error ? null : <Loading what="executions" />}
      {pages.nodes?.length === 0 ? (
        <Empty
          title={
            states.length > 0
              ? `None is ${states.map(formatName).join(" or ")}`
              : "No executions yet"
          }
        >
          <p>Open a pipeline and run a file through it.</p>
        </Empty>
      ) : null}
      {pages.nodes && pages.nodes.length > 0 ? (
        <>
          <Timeline rows={pages.nodes} />
          <ExecutionTable rows={pages.nodes} pages={pages} />
        </>
      ) : null}
    </>
  );
}

function AddressField({ label, name }: { label: string; name: string }) {
  const { search, change } = useAddress();
  return (
    <Field label={label}>
      <input
        defaultValue={search.get(name) ?? ""}
        onBlur={(event) => change({ [name]: event.target.value || null })}
        onKeyDown={(event) => {
          if (event.key === "Enter") change({ [name]: event.currentTarget.value || null });
        }}
      />
    </Field>
  );
}

/** Call at most twice a second, however many events come. */
function useBatched(call: () => void): () => void {
  const timer = useRef<number | undefined>(undefined);
  useEffect(() => () => window.clearTimeout(timer.current), []);
  return () => {
    timer.current ??= window.setTimeout(() => {
      timer.current = undefined;
      call();
    }, 500);
  };
}
