"""Taking runs out of their manifest: the run with its history, and a manifest with its runs."""

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import suppress
from dataclasses import replace

from datastore.commit import Done, Moved, Write, commit
from datastore.errors import NotFound, Unavailable
from datastore.layout import RUN_EVENT, RUN_LISTED
from datastore.manifest.manifests import CLOSED, key_of_manifest, left, name_of, removed
from datastore.manifest.records import ManifestName, Run, RunName
from datastore.manifest.rows import ALL, key_of_run, run_of, unlisted
from datastore.resources.rows import read_rows
from datastore.resources.scope import Scope
from datastore.table import (
    Compare,
    ConditionFailed,
    Delete,
    Exists,
    Item,
    Key,
    Query,
    Range,
    Update,
    key_of,
)

BATCH = 25
AT_ONCE = 90
"""Rows of history that go with their run in one transaction, which takes 100 operations."""
PAGE = 100
ATTEMPTS = 20


async def erase(scope: Scope, run: Run) -> None:
    """Delete a run as it was read; raises Moved where it is another by now.

    Where the history is long, its oldest part goes first.
    """
    history = [key_of(item) async for item in _all(scope, _history(run))]
    oldest, rest = history[:-AT_ONCE], history[-AT_ONCE:]
    for start in range(0, len(oldest), BATCH):
        await scope.table.write([Delete(key) for key in oldest[start : start + BATCH]])
    still = Compare("Version", "=", run.version)
    await commit(
        scope.table,
        [
            Write(Delete(key_of_run(run.name), still), _gone),
            *(Write(Delete(key)) for key in rest),
            Write(unlisted(run, ALL)),
            Write(unlisted(run, run.state)),
            left(run.name.manifest),
        ],
    )


async def delete_manifest(
    scope: Scope, manifest: Item, advanced: Callable[[], Awaitable[None]]
) -> None:
    """Delete the manifest of a row with all its runs, and tell of each that it is gone.

    It may be called again where it was cut short: no run gets into a manifest that is marked.
    """
    name = name_of(manifest)
    with suppress(ConditionFailed):
        mark = {CLOSED: scope.clock.timestamp()}
        await scope.table.transact(
            [Update(key=key_of_manifest(name), default=mark, condition=Exists())]
        )
    async for line in _all(scope, _every_run(name)):
        await _erase_as_it_is(scope, RunName(name, str(line["RunId"])))
        await advanced()
    with suppress(NotFound):
        await commit(scope.table, removed(name))


async def _erase_as_it_is(scope: Scope, name: RunName) -> None:
    key = key_of_run(name)
    for _ in range(ATTEMPTS):
        item = (await read_rows(scope.table, [key], consistent=True)).get(key)
        if item is None:
            return
        with suppress(Moved):
            await erase(scope, run_of(item))
            return
    raise Unavailable("The run is being written by many at once.")


def _gone(standing: Item | None) -> Exception:
    return Done() if standing is None else Moved()


def _history(run: Run) -> Query:
    return Query(
        partition=key_of_run(run.name).pk, range=Range(RUN_EVENT.sk.prefix({})), consistent=True
    )


def _every_run(name: ManifestName) -> Query:
    partition = RUN_LISTED.pk.fill({"manifest": name.segment, "list": ALL})
    return Query(partition=partition, consistent=True)


async def _all(scope: Scope, query: Query) -> AsyncIterator[Item]:
    """Every item of a query; each page is read when the one before has been dealt with."""
    after: Key | None = None
    while True:
        page = await scope.table.query(replace(query, after=after, limit=PAGE))
        for item in page.items:
            yield item
        after = page.last
        if after is None:
            return
