"""A run comes into its manifest once, whoever finds it; the first one makes the manifest."""

from asyncio import sleep
from collections.abc import Sequence
from random import uniform

from msgspec.structs import replace

from penstock.datastore.access.access import Access
from penstock.datastore.errors import LimitExceeded, Unavailable
from penstock.datastore.manifest.manifests import NoManifest, entered, opened
from penstock.datastore.manifest.records import Action, Run, RunEvent
from penstock.datastore.manifest.rows import Gone, item_of, key_bytes, new_rows, run_of
from penstock.datastore.table.limits import INDEX_RANGE_BYTES
from penstock.datastore.table.port import Item, Missing, Put
from penstock.datastore.table.transaction import Moved, Write, commit

ATTEMPTS = 20
PAUSE = 0.005


class _Standing(Exception):
    """The run is there already."""

    def __init__(self, run: Run) -> None:
        super().__init__(run.run_id)
        self.run = run


async def enter(
    access: Access, run: Run, action: Action, beside: Sequence[Write] = ()
) -> tuple[Run, bool]:
    """Write a run that is not there, with its manifest if need be; also whether it was new.

    A run of the same name that was deleted before goes on in the count of its fences. What is
    written `beside` is written if it was, in the same transaction.
    """
    length = key_bytes(run.name)
    if length > INDEX_RANGE_BYTES:
        raise LimitExceeded("bytes of a run's key", INDEX_RANGE_BYTES, length, ["runId"])
    manifest, absent = run.name.manifest, False
    for attempt in range(ATTEMPTS):
        await sleep(uniform(0, attempt * PAUSE))  # noqa: S311 - no secret; 0 the first time
        place = opened(access, manifest) if absent else [entered(manifest)]
        # The run is first: where it stands already, what else stands in the way says nothing.
        own = Write(Put(item_of(run), Missing()), _standing)
        rows = new_rows(run, first_event(access, run, action))
        try:
            await commit(access.table, [own, *rows, *place, *beside])
        except NoManifest:
            absent = True
        except Moved:
            absent = False
        except Gone as gone:
            run = replace(run, fence=gone.fence)
        except _Standing as standing:
            return standing.run, standing.run.id == run.id
        else:
            return run, True
    raise Unavailable("The manifest is being made by many at once.")


def first_event(access: Access, run: Run, action: Action) -> RunEvent:
    """What the history tells of how a run came in."""
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


def _standing(item: Item | None) -> Exception:
    return Moved() if item is None else _Standing(run_of(item))
