"""Manifest runs as the command line prints them, for people and as JSON."""

from collections.abc import Iterable, Sequence
from typing import Any

from penstock.datastore.manifest.records import Manifest, Run, RunEvent
from penstock.server.core.command_output import CommandOutput


def run_data(run: Run) -> dict[str, Any]:
    """Return a run under its GraphQL field names."""
    return {
        "runId": run.run_id,
        "group": run.group,
        "manifest": run.manifest,
        "state": run.state.value,
        "toSkip": run.to_skip,
        "skipReason": run.skip_reason,
        "addedAt": run.added_time,
        "addedBy": run.added_by,
        "processedAt": run.processed_time,
        "shredTypes": None if run.shred_types is None else list(run.shred_types),
        "savedTo": run.saved_to,
        "loadedAt": run.loaded_time,
        "loadedBy": run.loaded_by,
        "fence": run.fence,
        "attempt": run.attempt,
        "leaseOwner": run.lease_owner,
        "leaseUntil": run.lease_time,
        "idempotencyKey": run.idempotency_key,
        "lastError": run.last_error,
        "retryAt": run.retry_time,
        "counts": run.counts,
        "pipeline": run.pipeline,
        "tags": {tag.key: tag.value for tag in run.tags},
        "batch": run.batch,
        "version": run.version,
    }


def event_data(event: RunEvent) -> dict[str, Any]:
    return {
        "at": event.at,
        "action": event.action.value,
        "before": event.before and event.before.value,
        "after": event.after.value,
        "by": event.by,
        "worker": event.worker,
        "fence": event.fence,
        "reason": event.reason,
        "error": event.error,
    }


def change_answer(run: Run, words: str) -> CommandOutput:
    """Return the output of a command that changed one run."""
    return CommandOutput(f"{words}: {format_run(run)}", {"run": run_data(run)})


def format_run(run: Run) -> str:
    """Return a run on one line: state, time added, run id, and worker with its lease."""
    more = "  (skipped)" if run.to_skip else ""
    held = f"  {run.lease_owner} until {run.lease_time}" if run.lease_owner else ""
    return f"{run.state:10}  {run.added_time}  {run.run_id}{held}{more}"


def format_run_with_history(run: Run, events: Sequence[RunEvent]) -> str:
    """Return all fields of a run, and its history, newest first."""
    facts = [
        f"{name:14}  {_format_value(value)}"
        for name, value in run_data(run).items()
        if value is not None
    ]
    return "\n".join([*facts, "", *map(_format_event, events)])


def manifests_answer(found: Iterable[Manifest], before: str = "") -> CommandOutput:
    """Return manifests one a line, with some words `before` each."""
    known = list(found)
    text = "\n".join(
        f"{before}{each.runs:>8}  {each.name}{_format_retries(each)}" for each in known
    )
    data = {"manifests": [_manifest_data(each) for each in known]}
    return CommandOutput(text or "There are no manifests.", data)


def _manifest_data(manifest: Manifest) -> dict[str, Any]:
    rules = manifest.retries
    retries = rules and {
        "maxAttempts": rules.max_attempts,
        "firstDelaySeconds": rules.first_delay,
        "longestDelaySeconds": rules.longest_delay,
    }
    return {
        "name": manifest.name,
        "runCount": manifest.runs,
        "retries": retries,
        "consumers": list(manifest.consumers),
        "consumes": manifest.consumes,
    }


def _format_retries(manifest: Manifest) -> str:
    rules = manifest.retries
    if rules is None:
        return ""
    delays = f"after {rules.first_delay} to {rules.longest_delay} s"
    return f"  (at most {rules.max_attempts} attempts, {delays})"


def _format_value(value: object) -> str:
    match value:
        case list():
            return ", ".join(map(str, value)) or "(none)"
        case dict():
            return ", ".join(f"{name}={value[name]}" for name in sorted(value))
        case bool():
            return "yes" if value else "no"
        case _:
            return " ".join(str(value).split())


def _format_event(event: RunEvent) -> str:
    why = event.reason or event.error
    words = f"{event.at}  {event.action:10}  {event.after:10}  by {event.by}"
    return f"{words}: {' '.join(why.split())}" if why else words
