import { useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { Link } from "wouter";
import { failureOf, payloadOf } from "../../app/failure";
import { readAgain, useAnswer, useServices } from "../../app/queries";
import {
  AbandonExecution,
  CreateExecution,
  RunnablePipeline,
  StartExecution,
  WaitingUpload,
} from "../../graphql/generated/run-file";
import type { RunnablePipelineQuery } from "../../graphql/generated/types";
import { pathOf, useAddress, useNavigate } from "../../parts/address";
import { FileProblems, FileRows, PREVIEW_ROWS } from "../../parts/ChosenFile";
import { headerProblems, readFile, readHead, toRows } from "../../parts/csv";
import { Denied, useRoles } from "../../parts/denial";
import { DropPlace } from "../../parts/DropPlace";
import { formatBytes } from "../../parts/format";
import { mayRun } from "../../parts/roles";
import { Answered, Loading, Missing, Problem } from "../../parts/state";
import { useTitle } from "../../parts/title";
import { UploadProgress } from "../../parts/UploadProgress";
import { sendFile } from "../../parts/upload";
import { useTurns } from "../../parts/turns";
import { Columns } from "./Columns";

type Pipeline = NonNullable<RunnablePipelineQuery["pipeline"]>;

/** A file of at most so many bytes and rows is sent within the request. */
const INLINE_BYTES = 64 * 1024;
const INLINE_ROWS = 200;

interface ChosenFile {
  file: File;
  records: string[][];
  isWhole: boolean;
  /** What only the server can read, such as Excel; null for text. */
  kind: string | null;
  problems: string[];
}

/** Run a CSV file through a pipeline. */
export default function RunFile({ id }: { id: string }) {
  const query = useAnswer(RunnablePipeline, { id });
  const roles = useRoles();
  useTitle(`Run ${query.data?.pipeline?.name ?? "a file"}`);
  return (
    <Answered query={query} what="the pipeline">
      {({ pipeline }) => {
        if (!pipeline) return <Missing what="pipeline" />;
        if (roles === undefined) return <Loading what="your roles" />;
        if (mayRun(roles, pipeline)) return <FileRun pipeline={pipeline} />;
        return (
          <Denied title={`You may not run ${pipeline.name}`}>
            <p>
              Running it needs the role contributor at {pipeline.owner}, or at a group that it is
              shared with.
            </p>
            <Link href={pathOf("pipelines", pipeline.id)}>Back to the pipeline</Link>
          </Denied>
        );
      }}
    </Answered>
  );
}

function FileRun({ pipeline }: { pipeline: Pipeline }) {
  const { search } = useAddress();
  const [chosen, setChosen] = useState<ChosenFile | null>(null);
  const { parameters, extraColumns } = pipeline.transformer;
  const beginTurn = useTurns();
  const choose = async (file: File) => {
    const isLast = beginTurn();
    const { kind, text } = await readHead(file);
    if (!isLast()) return;
    if (kind !== null) {
      setChosen({ file, records: [], isWhole: false, kind, problems: [] });
      return;
    }
    const records = readFile(text, INLINE_ROWS + 2, parameters);
    const [header] = records;
    const problems = header
      ? headerProblems(header, parameters, extraColumns)
      : ["The file is empty."];
    setChosen({ file, records, isWhole: file.size <= INLINE_BYTES, kind, problems });
  };
  const waiting = search.get("execution");
  return (
    <>
      <header>
        <div className="stack tight">
          <p className="crumbs">
            <Link href={pathOf("pipelines", pipeline.id)}>{pipeline.name}</Link> · {pipeline.owner}
          </p>
          <h1>Run a file</h1>
        </div>
      </header>
      {waiting && !chosen ? (
        <p className="note note-warn">
          <span>
            An upload was broken off.{" "}
            <Link href={pathOf("executions", waiting)}>Its execution</Link> still waits for the
            file: choose it again, and it goes on.
          </span>
        </p>
      ) : null}
      <DropPlace
        label="File to run"
        words="Drop a file here, or choose one: CSV, also compressed (.gz), Excel (.xlsx) or Parquet."
        accept=".csv,.txt,.gz,.xlsx,.parquet,text/csv"
        onFile={(file) => void choose(file)}
      />
      {pipeline.transformer.rows ? (
        <p className="note">
          The rows are kept. A row with the same{" "}
          <strong>{pipeline.transformer.rows.key.join(", ")}</strong> as a kept one takes its place.
        </p>
      ) : null}
      <Columns transformer={pipeline.transformer} />
      {chosen ? (
        <ChosenPart
          key={`${chosen.file.name} ${chosen.file.lastModified}`}
          pipeline={pipeline}
          chosen={chosen}
        />
      ) : null}
    </>
  );
}

type Step =
  | { name: "ready" }
  | { name: "uploading"; sent: number; stop: AbortController }
  | { name: "failed"; error: unknown };

function ChosenPart({ pipeline, chosen }: { pipeline: Pipeline; chosen: ChosenFile }) {
  const { api } = useServices();
  const client = useQueryClient();
  const { search, change } = useAddress();
  const navigate = useNavigate();
  const [step, setStep] = useState<Step>({ name: "ready" });
  const isInline = chosen.isWhole && chosen.records.length <= INLINE_ROWS + 1;
  const [header = [], ...rows] = chosen.records;

  const runRows = async () => {
    const input = {
      pipelineId: pipeline.id,
      mode: "INLINE" as const,
      rows: toRows(chosen.records, pipeline.transformer.parameters),
      inputName: chosen.file.name,
    };
    const { createExecution } = await api.run(CreateExecution, { input });
    return payloadOf(createExecution).execution.id;
  };

  /** The execution that an upload of this file was broken off for, or a new one. */
  const openUpload = async () => {
    const broken = search.get("execution");
    const { execution } = broken
      ? await api.run(WaitingUpload, { id: broken })
      : { execution: null };
    if (execution?.upload && execution.input.name === chosen.file.name) return execution;
    const input = { pipelineId: pipeline.id, mode: "JOB" as const, inputName: chosen.file.name };
    const { createExecution } = await api.run(CreateExecution, { input });
    return payloadOf(createExecution).execution;
  };

  const runUpload = async (stop: AbortController) => {
    const { id, upload } = await openUpload();
    change({ execution: id });
    if (!upload) throw new Error("The execution takes no file.");
    try {
      await sendFile(upload, chosen.file, stop.signal, (sent) =>
        setStep({ name: "uploading", sent, stop }),
      );
    } catch (error) {
      // After anything but a cancel, the same file can be sent again for the same execution.
      if (stop.signal.aborted) {
        change({ execution: null });
        await api.run(AbandonExecution, { input: { id } });
      }
      throw error;
    }
    payloadOf((await api.run(StartExecution, { input: { id } })).startExecution);
    return id;
  };

  const run = async () => {
    const stop = new AbortController();
    setStep({ name: "uploading", sent: 0, stop });
    try {
      const id = await (isInline ? runRows() : runUpload(stop));
      void readAgain(client);
      navigate(pathOf("executions", id));
    } catch (error) {
      if (stop.signal.aborted) setStep({ name: "ready" });
      else setStep({ name: "failed", error });
    }
  };

  if (chosen.problems.length > 0) {
    return (
      <FileProblems
        words={`${chosen.file.name} does not fit; nothing was sent.`}
        problems={chosen.problems}
      />
    );
  }
  return (
    <section className="stack" aria-label="The chosen file">
      <h2>
        {chosen.file.name} <span className="muted">{formatBytes(chosen.file.size)}</span>
      </h2>
      {chosen.kind ? (
        <p className="muted">{chosen.kind}: the server reads it and checks its columns.</p>
      ) : (
        <>
          {rows.length > PREVIEW_ROWS ? (
            <p className="small muted">Its first {PREVIEW_ROWS} rows:</p>
          ) : null}
          <FileRows header={header} rows={rows} />
        </>
      )}
      {step.name === "uploading" ? (
        <UploadProgress
          sent={step.sent}
          size={chosen.file.size}
          onCancel={() => step.stop.abort()}
        />
      ) : (
        <p>
          <button type="button" className="button primary" onClick={() => void run()}>
            Run {isInline ? "at once" : "this file"}
          </button>{" "}
          <span className="small muted">
            {isInline
              ? "It is small: its results come with the answer."
              : "It is uploaded; a worker runs it, and you may leave."}
          </span>
        </p>
      )}
      {step.name === "failed" ? <Problem error={failureOf(step.error)} /> : null}
    </section>
  );
}
