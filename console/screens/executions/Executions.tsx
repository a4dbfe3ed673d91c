import { type InfiniteData, useQueryClient } from "@tanstack/react-query";
import { useEffect, useRef } from "react";
import { readAgain, useAnswer, useLive, usePages } from "../../app/queries";
import {
  Executions as ExecutionsPage,
  ExecutionsLive,
  ExecutionTotals,
} from "../../graphql/generated/executions";
import { Viewer } from "../../graphql/generated/shell";
import type {
  DurationFilter,
  ExecutionState,
  ExecutionsQuery,
} from "../../graphql/generated/types";
import { useAddress } from "../../parts/address";
import { AddressField, BelowField, Field, GroupField } from "../../parts/fields";
import { StateBadge } from "../../parts/marks";
import { Empty, Loading, Problem } from "../../parts/state";
import { SpanField } from "../../parts/SpanField";
import { TimeField } from "../../parts/TimeRange";
import { useTitle } from "../../parts/title";
import { readTag } from "../catalogue/tagFilter";
import { ExecutionTable } from "./ExecutionTable";
import { fits, withChange } from "./liveRows";
import { PipelineField } from "./PipelineField";
import { Timeline } from "./Timeline";

const STATES: readonly ExecutionState[] = [
  "WAITING",
  "IN_PROGRESS",
  "SUCCESS",
  "FAILED",
  "CANCELLED",
];

/** The executions of all pipelines that the caller sees, live. */
export default function Executions() {
  useTitle("Executions");
  const { search, change } = useAddress();
  const client = useQueryClient();
  const yours = useAnswer(Viewer, {}).data?.viewer.defaultGroup;
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
    duration: durationOf(search),
    order: "NEWEST_FIRST" as const,
  };
  const pages = usePages(ExecutionsPage, variables, (page) => page.executions);
  const totals = useAnswer(
    ExecutionTotals,
    { ...scope, pipeline: variables.pipeline },
    { keep: true },
  );
  const refresh = useBatched(() => {
    void readAgain(client, { queryKey: [ExecutionsPage.name] });
    void readAgain(client, { queryKey: [ExecutionTotals.name] });
  });
  const recount = useBatched(() => void readAgain(client, { queryKey: [ExecutionTotals.name] }));
  useLive(
    ExecutionsLive,
    scope,
    ({ executionsChanged: { change: kind, executionId, execution } }) => {
      if (kind === "RESET" || !executionId) {
        refresh();
        return;
      }
      // A long list is not read again for one row of it.
      const row = execution && fits(execution, variables) ? execution : null;
      client.setQueryData<InfiniteData<ExecutionsQuery>>(pages.key, (before) =>
        before ? { ...before, pages: withChange(before.pages, executionId, row) } : before,
      );
      recount();
    },
  );
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
        <fieldset className="row middle apart">
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
        <div className="filters">
          <GroupField
            value={scope.group ?? ""}
            placeholder={yours ? `yours, ${yours}` : ""}
            onChange={(path) => change({ group: path || null })}
          />
          <BelowField checked={scope.below} />
          <PipelineField
            group={scope.group}
            value={variables.pipeline}
            onChange={(pipeline) => change({ pipeline })}
          />
          <AddressField label="Created by" name="by" placeholder="a user's id" />
          <AddressField label="Tag" name="tag" placeholder="key=value" />
          <SpanField span={variables} onChange={(span) => change({ ...span })} />
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
          <SecondsField label="Took at least (s)" name="atLeast" />
          <SecondsField label="Took at most (s)" name="atMost" />
        </div>
      </search>
      {pages.error && !pages.nodes ? (
        <Problem error={pages.error} onRetry={() => void pages.refetch()} />
      ) : null}
      {pages.nodes || pages.error ? null : <Loading what="executions" />}
      {pages.nodes?.length === 0 ? (
        <Empty title={isFiltered(search) ? "No execution fits this search" : "No executions yet"}>
          <p>
            {isFiltered(search)
              ? "Remove a part of the search above."
              : "Open a pipeline and run a file through it."}
          </p>
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

const NARROWING = ["state", "pipeline", "by", "tag", "from", "to", "atLeast", "atMost"];

function isFiltered(search: URLSearchParams): boolean {
  return NARROWING.some((name) => search.has(name));
}

/** The range of durations in the address; null without one. */
function durationOf(search: URLSearchParams): DurationFilter | null {
  const [atLeast, atMost] = ["atLeast", "atMost"].map((name) => {
    const seconds = Number(search.get(name) || NaN);
    return seconds >= 0 ? seconds : null;
  });
  return atLeast == null && atMost == null ? null : { atLeast, atMost };
}

function SecondsField({ label, name }: { label: string; name: string }) {
  const { search, change } = useAddress();
  return (
    <Field label={label}>
      <input
        type="number"
        min={0}
        step="any"
        inputMode="decimal"
        value={search.get(name) ?? ""}
        onChange={(event) => change({ [name]: event.target.value || null })}
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
