"""Deletion of a run with its history, and of a manifest with its runs."""

from collections.abc import Awaitable, Callable
from contextlib import suppress
from datetime import timedelta

from penstock.datastore.access.access import Access
from penstock.datastore.errors import NotFound, Unavailable
from penstock.datastore.manifest.manifests import CLOSED, key_of_manifest, left, name_of, removed
from penstock.datastore.manifest.records import ManifestName, Run, RunName
from penstock.datastore.manifest.rows import ALL, grave, history, key_of_run, run_of, unlisted
from penstock.datastore.table.items import read_rows
from penstock.datastore.table.layout import RUN_LISTED
from penstock.datastore.table.pages import items
from penstock.datastore.table.port import (
    Attributes,
    Compare,
    ConditionFailed,
    Delete,
    Exists,
    Query,
    Update,
    key_of,
)
from penstock.datastore.table.transaction import Done, Moved, Write, commit

BATCH = 25
AT_ONCE = 90
"""The events that are deleted in the run's own transaction, which takes 100 operations."""
ATTEMPTS = 20
REMEMBERED = timedelta(days=30)
"""The time for which fences are kept; no worker still writes for a lost run after that."""


async def erase(access: Access, run: Run) -> None:
    """Delete a run as it was read; raises Moved if it has changed since.

    The oldest part of a long history is deleted beforehand. If the run was ever claimed, a
    tombstone keeps its highest fence for thirty days.
    """
    events = [key_of(item) async for item in items(access.table, history(run))]
    oldest, rest = events[1:-AT_ONCE], events[1:][-AT_ONCE:]
    for start in range(0, len(oldest), BATCH):
        await access.table.write([Delete(key) for key in oldest[start : start + BATCH]])
    still = Compare("Version", "=", run.version)
    until = int((access.clock.now() + REMEMBERED).timestamp())
    first = grave(run, until) if run.fence else Delete(events[0])
    await commit(
        access.table,
        [
            Write(Delete(key_of_run(run.name), still), _gone),
            Write(first),
            *(Write(Delete(key)) for key in rest),
            Write(unlisted(run, ALL)),
            Write(unlisted(run, run.state)),
            left(run.name.manifest),
        ],
    )


async def delete_manifest(
    access: Access, manifest: Attributes, advanced: Callable[[], Awaitable[None]]
) -> None:
    """Delete the manifest in this row with all its runs; `advanced` is called after each run.

    An interrupted call can be repeated: no run can be added to a manifest that is marked.
    """
    name = name_of(manifest)
    with suppress(ConditionFailed):
        mark = {CLOSED: access.clock.timestamp()}
        await access.table.transact(
            [Update(key=key_of_manifest(name), default=mark, condition=Exists())]
        )
    async for line in items(access.table, _every_run(name)):
        await _erase_as_it_is(access, RunName(name, str(line["RunId"])))
        await advanced()
    with suppress(NotFound):
        await commit(access.table, removed(name))


async def _erase_as_it_is(access: Access, name: RunName) -> None:
    key = key_of_run(name)
    for _ in range(ATTEMPTS):
        item = (await read_rows(access.table, [key], consistent=True)).get(key)
        if item is None:
            return
        with suppress(Moved):
            await erase(access, run_of(item))
            return
    raise Unavailable("The run is being written by many at once.")


def _gone(standing: Attributes | None) -> Exception:
    return Done() if standing is None else Moved()


def _every_run(name: ManifestName) -> Query:
    partition = RUN_LISTED.pk.fill({"manifest": name.segment, "list": ALL})
    return Query(partition=partition, consistent=True)
