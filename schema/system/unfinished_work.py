"""Checks for unfinished work: imports, deletes, jobs, executions, and manifest runs."""

from collections.abc import Sequence

from penstock.datastore.manifest.lists import TroubledManifest
from penstock.datastore.store import Store
from penstock.datastore.table.unfinished_imports import REPEAT_IMPORT, UNFINISHED_IMPORT
from penstock.datastore.text import say_count
from penstock.resolvers.findings import Finding, Findings, fail, ok, warn
from penstock.schema.core.relay import GlobalId


async def check_unfinished_work(store: Store) -> Findings:
    """Judge the unfinished work; raises errors.Unavailable if the store does not answer."""
    yield judge_imports(await store.count_unfinished_imports())
    yield judge_deletes(await store.count_pending_deletes())
    yield judge_jobs(await store.count_unheld_jobs())
    manifests = await store.find_troubled_manifests()
    yield judge_runs(manifests.stuck)
    yield judge_given_up_runs(manifests.given_up)
    yield judge_executions(await store.find_stuck_executions())


def judge_imports(count: int) -> Finding:
    if count == 0:
        return ok("imports", "No import of an archive was cut short.")
    return fail("imports", UNFINISHED_IMPORT, REPEAT_IMPORT)


def judge_deletes(count: int) -> Finding:
    if count == 0:
        return ok("deletes", "No delete and no large write was cut short.")
    advice = "A server finishes them when it starts, unless one is at it right now."
    words = say_count(count, "delete or large write is", "deletes and large writes are")
    return warn("deletes", f"{words} not finished.", advice)


def judge_jobs(count: int) -> Finding:
    if count == 0:
        return ok("jobs", "No job waits for a server.")
    advice = "A server takes them up within seconds; if one runs, its log says what keeps it."
    return warn("jobs", f"{say_count(count, 'job waits', 'jobs wait')} for a server.", advice)


def judge_runs(stuck: Sequence[TroubledManifest]) -> Finding:
    if not stuck:
        return ok("runs", "No run got stuck.")
    listing = _list_command(stuck[0], "--stale")
    return warn(
        "runs",
        _count_troubled(stuck, "run got stuck", "runs got stuck"),
        f"{listing} shows them; then claim or recover them.",
    )


def judge_given_up_runs(given_up: Sequence[TroubledManifest]) -> Finding:
    if not given_up:
        return ok("given-up runs", "No run was given up.")
    listing = _list_command(given_up[0], "--state given_up")
    advice = f"{listing} shows why; `penstock manifest retry` lets workers try one again."
    words = _count_troubled(given_up, "run was given up", "runs were given up")
    return warn("given-up runs", words, advice)


def _count_troubled(troubled: Sequence[TroubledManifest], one: str, many: str) -> str:
    of, count, more = troubled[0]
    words = f"{count} or more {many}" if more else say_count(count, one, many)
    elsewhere = f", and others in {len(troubled) - 1} more" if len(troubled) > 1 else ""
    return f"{words} in {of.name} of {of.group}{elsewhere}."


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
    words = say_count(len(ids), "execution waits", "executions wait")
    return warn("executions", f"{words} for a worker: {shown}.", advice)
