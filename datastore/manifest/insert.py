"""The insertion of a run, which happens once and creates the manifest if need be."""

from collections.abc import Iterable, Iterator, Sequence

from msgspec.structs import replace

from penstock.datastore.access.access import Access
from penstock.datastore.errors import LimitExceeded, Unavailable
from penstock.datastore.manifest.counts import ManifestMissing, add_runs_writes
from penstock.datastore.manifest.manifests import new_manifest_writes
from penstock.datastore.manifest.records import Action, Run, RunEvent
from penstock.datastore.manifest.rows import RunWasDeleted, key_bytes, new_rows, run_item, run_of
from penstock.datastore.table.commit import Attempts, StaleRead, Write, commit
from penstock.datastore.table.limits import INDEX_RANGE_BYTES, TRANSACTION_OPERATIONS
from penstock.datastore.table.port import Item, Missing, Put


class _RunExists(Exception):
    """The run exists already."""

    def __init__(self, run: Run) -> None:
        super().__init__(run.run_id)
        self.run = run


async def insert_run(
    access: Access, run: Run, action: Action | None, extra_writes: Sequence[Write] = ()
) -> tuple[Run, bool]:
    """Insert a run unless it exists, and create its manifest if need be.

    Returns the run, and whether this call inserted it. The fences of a deleted run of the same name
    are continued. Without an `action`, the history begins with the next event; the name must then
    be one that no run ever had. The `extra_writes` are part of the transaction.
    """
    check_key_length(run)
    absent = False
    async for _ in Attempts():
        place = new_manifest_writes(access, run) if absent else add_runs_writes([run])
        # The run comes first: if it exists, the conflicts of the other rows do not matter.
        own = Write(Put(run_item(run), Missing()), run_exists)
        rows = new_rows(run, None if action is None else first_event(access, run, action))
        try:
            await commit(access.table, [own, *rows, *place, *extra_writes])
        except ManifestMissing:
            absent = True
        except StaleRead:
            absent = False
        except RunWasDeleted as gone:
            run = replace(run, fence=gone.fence)
        except _RunExists as standing:
            return standing.run, standing.run.id == run.id
        else:
            return run, True
    raise Unavailable("The manifest is being made by many at once.")


def check_key_length(run: Run) -> None:
    """Raise LimitExceeded for a run whose key no index takes."""
    length = key_bytes(run.name)
    if length > INDEX_RANGE_BYTES:
        raise LimitExceeded("bytes of a run's key", INDEX_RANGE_BYTES, length, ["runId"])


async def insert_runs(access: Access, runs: Sequence[Run], action: Action) -> int:
    """Insert runs of one manifest, many in one transaction; return how many were inserted.

    Those that exist are left as they are.
    """
    new = 0
    for part in _transactions_of(access, runs, action):
        if await _insert_together(access, part):
            new += len(part)
        else:
            for run, _ in part:
                new += (await insert_run(access, run, action))[1]
    return new


def _transactions_of(
    access: Access, runs: Iterable[Run], action: Action
) -> Iterator[list[tuple[Run, list[Write]]]]:
    """The runs with their rows, as many together as one transaction takes."""
    part: list[tuple[Run, list[Write]]] = []
    operations = 0
    for run in runs:
        own = Write(Put(run_item(run), Missing()))
        rows = [own, *new_rows(run, first_event(access, run, action))]
        # Each run may have a count of its own.
        if part and operations + len(rows) + 1 > TRANSACTION_OPERATIONS:
            yield part
            part, operations = [], 0
        part.append((run, rows))
        operations += len(rows) + 1
    if part:
        yield part


async def _insert_together(access: Access, part: Sequence[tuple[Run, list[Write]]]) -> bool:
    """Insert runs in one transaction; False if a run exists or the manifest does not."""
    writes = add_runs_writes([run for run, _ in part])
    try:
        await commit(access.table, [*writes, *(row for _, rows in part for row in rows)])
    except (RunWasDeleted, StaleRead, ManifestMissing):
        return False
    return True


def first_event(access: Access, run: Run, action: Action) -> RunEvent:
    """The first event of a run: it was discovered or imported."""
    return RunEvent(
        seq=run.version,
        action=action,
        after=run.state,
        at=access.clock.timestamp(),
        by=access.caller.user_id,
        call=run.id,
        fence=run.fence,
        reason=run.skip_reason,
    )


def run_exists(item: Item | None) -> Exception:
    """The refusal of a new run's own row: the run exists."""
    return StaleRead() if item is None else _RunExists(run_of(item))
