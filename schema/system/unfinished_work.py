"""Checks for unfinished work: deletes, jobs, executions, and manifest runs."""

from collections.abc import Sequence

from penstock.datastore.manifest.lists import StaleManifest
from penstock.datastore.store import Store
from penstock.resolvers.findings import Finding, Findings, ok, warn
from penstock.schema.core.relay import GlobalId


async def check_unfinished_work(store: Store) -> Findings:
    """Judge the unfinished work; raises errors.Unavailable if the store does not answer."""
    yield judge_deletes(await store.count_pending_deletes())
    yield judge_jobs(await store.count_unheld_jobs())
    yield judge_runs(await store.find_stale_manifests())
    yield judge_executions(await store.find_stuck_executions())


def judge_deletes(count: int) -> Finding:
    if count == 0:
        return ok("deletes", "No delete and no large write was cut short.")
    advice = "A server finishes them when it starts, unless one is at it right now."
    return warn("deletes", f"{count} deletes and large writes are not finished.", advice)


def judge_jobs(count: int) -> Finding:
    if count == 0:
        return ok("jobs", "No job waits for a server.")
    advice = "A server takes them up within seconds; if one runs, its log says what keeps it."
    return warn("jobs", f"{count} jobs wait for a server.", advice)


def judge_runs(stale: Sequence[StaleManifest]) -> Finding:
    if not stale:
        return ok("runs", "No run got stuck.")
    of, count, more = stale[0]
    elsewhere = f", and others in {len(stale) - 1} more" if len(stale) > 1 else ""
    found = f"{count}{' or more' if more else ''} runs got stuck in {of.name} of {of.group}"
    listing = f"`penstock manifest list --manifest {of.name} --group {of.group} --stale`"
    return warn(
        "runs", f"{found}{elsewhere}.", f"{listing} shows them; then claim or recover them."
    )


def judge_executions(ids: Sequence[str]) -> Finding:
    if not ids:
        return ok("executions", "No execution waits for a worker.")
    named = [GlobalId("Execution", id).encode() for id in ids[:3]]
    shown = ", ".join(named) + (", ..." if len(ids) > 3 else "")
    advice = (
        "Start a server or `penstock worker`: either takes them up, and nothing is lost. "
        "`cancelExecution` ends one that is not wanted any more."
    )
    return warn("executions", f"{len(ids)} executions wait for a worker: {shown}.", advice)
