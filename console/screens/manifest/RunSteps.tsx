import { useState, type SubmitEvent } from "react";
import { payloadOf } from "../../app/failure";
import { useAction } from "../../app/queries";
import {
  RecoverRun,
  ResetRun,
  RetryRun,
  SkipRun,
  UnskipRun,
} from "../../graphql/generated/manifest";
import type { RunFactsFragment } from "../../graphql/generated/types";
import { ActionButton } from "../../parts/ActionButton";
import { useRoles } from "../../parts/denial";
import { Field } from "../../parts/fields";
import { readForm } from "../../parts/forms";
import { ModalDialog } from "../../parts/ModalDialog";
import { hasRole } from "../../parts/roles";
import { Problem } from "../../parts/state";

export interface Place {
  group: string | null;
  manifest: string;
}

const STEPS = {
  retry: {
    name: "Try again",
    words: "Workers may claim the run at once, and its attempts count from none.",
  },
  recover: {
    name: "Recover",
    words:
      "The output of the run is complete: mark it processed. The server looks for _SUCCESS first.",
  },
  reset: {
    name: "Start again",
    words: "The run goes back to new. The server refuses if its output is complete.",
  },
  skip: {
    name: "Skip",
    words: "No worker takes the run from now on, until it is no longer skipped.",
  },
  unskip: { name: "No longer skip", words: "Workers may take the run again." },
} as const;

type Step = keyof typeof STEPS;

/** The steps that are safe in the state of a run, as the server checks them again. */
export function safeSteps(run: Pick<RunFactsFragment, "state" | "toSkip">): Step[] {
  const canMend = ["NEW", "FAILED", "GIVEN_UP", "PROCESSING"].includes(run.state);
  const canRetry: Step[] = ["FAILED", "GIVEN_UP"].includes(run.state) ? ["retry"] : [];
  const skipping: Step[] = run.toSkip ? ["unskip"] : run.state === "LOADED" ? [] : ["skip"];
  return canMend ? [...canRetry, "recover", "reset", ...skipping] : skipping;
}

/** The shredded types of a run, as they are typed. */
export function readTypes(text: string): string[] {
  return text.split(/[\s,]+/).filter(Boolean);
}

export function RunSteps({ place, run }: { place: Place; run: RunFactsFragment }) {
  const [step, setStep] = useState<Step | null>(null);
  if (!hasRole(useRoles() ?? [], "CONTRIBUTOR", run.group)) return null;
  return (
    <div className="row">
      {safeSteps(run).map((one) => (
        <button
          key={one}
          type="button"
          className="button"
          aria-label={`${STEPS[one].name}: ${run.runId}`}
          onClick={() => setStep(one)}
        >
          {STEPS[one].name}
        </button>
      ))}
      {step ? (
        <StepDialog place={place} run={run} step={step} onClose={() => setStep(null)} />
      ) : null}
    </div>
  );
}

interface StepDialogProps {
  place: Place;
  run: RunFactsFragment;
  step: Step;
  onClose: () => void;
}

function StepDialog({ place, run, step, onClose }: StepDialogProps) {
  const actions = {
    retry: useAction(RetryRun, (data) => payloadOf(data.retryRun), onClose),
    recover: useAction(RecoverRun, (data) => payloadOf(data.recoverRun), onClose),
    reset: useAction(ResetRun, (data) => payloadOf(data.resetRun), onClose),
    skip: useAction(SkipRun, (data) => payloadOf(data.skipRun), onClose),
    unskip: useAction(UnskipRun, (data) => payloadOf(data.unskipRun), onClose),
  };
  const action = actions[step];
  const submit = (event: SubmitEvent<HTMLFormElement>) => {
    const { reason = "", savedTo, types } = readForm(event);
    const shred = types === undefined ? {} : { shredTypes: readTypes(types) };
    const folder = savedTo ? { savedTo } : {};
    const input = { ...place, runId: run.runId, reason, ...folder, ...shred };
    action.mutate({ input });
  };
  return (
    <ModalDialog title={`${STEPS[step].name}: ${run.runId}`} onClose={onClose}>
      <form className="stack" onSubmit={submit}>
        <p>{STEPS[step].words}</p>
        {(step === "recover" || step === "reset") && !run.savedTo ? (
          <Field label="Folder of its output, such as s3://bucket/stage/run=1/">
            <input name="savedTo" required />
          </Field>
        ) : null}
        {step === "recover" && !run.shredTypes ? (
          <Field label="Shredded types, separated by commas; empty if there are none">
            <input name="types" />
          </Field>
        ) : null}
        <Field label="Reason, for the history">
          <input name="reason" required />
        </Field>
        {action.error ? <Problem error={action.error} /> : null}
        <ActionButton isBusy={action.isPending}>{STEPS[step].name}</ActionButton>
      </form>
    </ModalDialog>
  );
}
