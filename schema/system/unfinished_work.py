"""Checks for unfinished work: deletes, jobs, executions, and manifest runs."""

from collections.abc import Sequence

from penstock.datastore.manifest.lists import TroubledManifest
from penstock.datastore.store import Store
from penstock.resolvers.findings import Finding, Findings, ok, warn
from penstock.schema.core.relay import GlobalId


async def check_unfinished_work(store: Store) -> Findings:
    """Judge the unfinished work; raises errors.Unavailable if the store does not answer."""
    yield judge_deletes(await store.count_pending_deletes())
    yield judge_jobs(await store.count_unheld_jobs())
    manifests = await store.find_troubled_manifests()
    yield judge_runs(manifests.stuck)
    yield judge_given_up_runs(manifests.given_up)
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


def judge_runs(stuck: Sequence[TroubledManifest]) -> Finding:
    if not stuck:
        return ok("runs", "No run got stuck.")
    listing = _list_command(stuck[0], "--stale")
    return warn(
        "runs",
        _count_troubled("got stuck", stuck),
        f"{listing} shows them; then claim or recover them.",
    )


def judge_given_up_runs(given_up: Sequence[TroubledManifest]) -> Finding:
    if not given_up:
        return ok("given-up runs", "No run was given up.")
    listing = _list_command(given_up[0], "--state given_up")
    advice = f"{listing} shows why; `penstock manifest retry` lets workers try one again."
    return warn("given-up runs", _count_troubled("were given up", given_up), advice)


def _count_troubled(what: str, troubled: Sequence[TroubledManifest]) -> str:
    of, count, more = troubled[0]
    elsewhere = f", and others in {len(troubled) - 1} more" if len(troubled) > 1 else ""
    return f"{count}{' or more' if more else ''} runs {what} in {of.name} of {of.group}{elsewhere}."


def _list_command(troubled: TroubledManifest, choice: str) -> str:
    of = troubled.manifest
    return f"`penstock manifest list --manifest {of.name} --group {of.group} {choice}`"


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
