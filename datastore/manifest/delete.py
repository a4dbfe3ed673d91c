"""Deletion of a run with its history, and of a manifest with its runs."""

from collections.abc import Awaitable, Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from datetime import timedelta
from typing import NamedTuple

from penstock.datastore.access.access import Access
from penstock.datastore.errors import NotFound
from penstock.datastore.manifest.counts import remove_manifest, remove_runs_writes, run_counts
from penstock.datastore.manifest.labels import ALL_RUNS
from penstock.datastore.manifest.manifests import manifest_name_of
from penstock.datastore.manifest.records import ManifestName, Run, RunName
from penstock.datastore.manifest.rows import (
    history_query,
    key_of_run,
    list_lines,
    run_of,
    tombstone,
)
from penstock.datastore.table.commit import (
    AlreadyDone,
    Refusal,
    StaleRead,
    Write,
    commit,
    retry_on_conflict,
    stale_read,
)
from penstock.datastore.table.items import read_rows
from penstock.datastore.table.layout import RUN_LISTED
from penstock.datastore.table.limits import TRANSACTION_OPERATIONS
from penstock.datastore.table.pages import query_items
from penstock.datastore.table.port import (
    Attributes,
    Compare,
    ConditionFailed,
    Delete,
    Exists,
    Item,
    Query,
    Update,
    key_of,
)
from penstock.datastore.table.sharded_counts import DELETING

BATCH = 25
EVENTS_PER_TRANSACTION = 75
"""The events that are deleted in the run's own transaction, which takes 100 operations: it also
deletes the run, its lines in up to 20 lists, its first event and its count."""
FENCE_RETENTION = timedelta(days=30)
"""The time for which fences are kept; no worker still writes for a lost run after that."""


async def delete_run(access: Access, run: Run) -> None:
    """Delete a run as it was read; raises StaleRead if it has changed since.

    The oldest part of a long history is deleted beforehand. If the run was ever claimed, a
    tombstone keeps its highest fence for thirty days.
    """
    removal = await _removal_writes(access, run, _describe_conflict)
    if run.fence:
        until = int((access.clock.now() + FENCE_RETENTION).timestamp())
        grave = tombstone(run, until)
        removal = [each for each in removal if each.operation.key != grave.key]
        removal.append(Write(grave))
    await commit(access.table, [*removal, *remove_runs_writes([run])])


async def delete_runs(access: Access, runs: Sequence[Run]) -> int:
    """Delete runs of a manifest whose names nobody uses again; return their number.

    A transaction deletes several. A run that has changed since it was read stays. No tombstones
    are left. An interrupted call can be repeated.
    """
    removals = [_Removal(run, await _removal_writes(access, run, stale_read)) for run in runs]
    deleted = 0
    for together in _fit_transactions(removals):
        if await _remove(access, together):
            deleted += len(together)
        elif len(together) > 1:
            deleted += sum([await _remove(access, [each]) for each in together])
    return deleted


class _Removal(NamedTuple):
    """A run, and the writes that delete its rows."""

    run: Run
    writes: Sequence[Write]


async def _remove(access: Access, removals: Sequence[_Removal]) -> bool:
    """Delete runs in one transaction; False if one of them has changed."""
    writes = [write for removal in removals for write in removal.writes]
    counts = remove_runs_writes(removal.run for removal in removals)
    try:
        await commit(access.table, [*writes, *counts])
    except StaleRead:
        return False
    return True


def _fit_transactions(removals: Iterable[_Removal]) -> Iterator[list[_Removal]]:
    """Divide removals into transactions, each with room for the counts of the runs."""
    together, size = list[_Removal](), 0
    for removal in removals:
        # The run may be the only one of its shard.
        operations = len(removal.writes) + 1
        if together and size + operations > TRANSACTION_OPERATIONS:
            yield together
            together, size = [], 0
        together.append(removal)
        size += operations
    if together:
        yield together


async def _removal_writes(access: Access, run: Run, refusal: Refusal) -> list[Write]:
    """The writes that delete a run's rows: its own, its events, and its lines in lists.

    The oldest part of a long history, but the first event, is deleted by this call.
    """
    events = [key_of(item) async for item in query_items(access.table, history_query(run))]
    oldest, rest = events[1:-EVENTS_PER_TRANSACTION], events[1:][-EVENTS_PER_TRANSACTION:]
    for start in range(0, len(oldest), BATCH):
        await access.table.write([Delete(key) for key in oldest[start : start + BATCH]])
    still = Compare("Version", "=", run.version)
    return [
        Write(Delete(key_of_run(run.name), still), refusal),
        *(Write(Delete(key)) for key in (*events[:1], *rest)),
        *(Write(Delete(key)) for key in list_lines(run)),
    ]


async def delete_manifest(
    access: Access, manifest: Attributes, advanced: Callable[[], Awaitable[None]]
) -> None:
    """Delete the manifest in this row with all its runs; `advanced` is called after each run.

    An interrupted call can be repeated: no run can be added to a manifest that is marked.
    """
    name = manifest_name_of(manifest)
    counts = run_counts(name)
    mark: Item = {DELETING: access.clock.timestamp()}
    with suppress(ConditionFailed):
        await access.table.transact([Update(key=counts.own, default=mark, condition=Exists())])
    await counts.close_shards(access.table, mark)
    async for line in query_items(access.table, _all_runs_query(name)):
        await _delete_latest(access, RunName(name, str(line["RunId"])))
        await advanced()
    with suppress(NotFound):
        await remove_manifest(access.table, name)


async def _delete_latest(access: Access, name: RunName) -> None:
    key = key_of_run(name)

    async def attempt() -> None:
        item = (await read_rows(access.table, [key], consistent=True)).get(key)
        if item is not None:
            await delete_run(access, run_of(item))

    await retry_on_conflict("run", attempt)


def _describe_conflict(standing: Attributes | None) -> Exception:
    return AlreadyDone() if standing is None else StaleRead()


def _all_runs_query(name: ManifestName) -> Query:
    partition = RUN_LISTED.pk.fill({"manifest": name.key_parts, "list": ALL_RUNS})
    return Query(partition=partition, consistent=True)
