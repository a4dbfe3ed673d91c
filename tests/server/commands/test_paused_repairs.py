"""A repair that was paused, at any call, sets no count that another one has made right."""

from contextlib import suppress
from itertools import count
from pathlib import Path

import pytest

from penstock.datastore.errors import Unavailable
from penstock.datastore.store import Store
from penstock.datastore.table.port import Key, Update
from penstock.server.commands.checks.recount import recount
from tests.support.consistency_check import contents, faults
from tests.support.sample_resources import USA, create_groups, make
from tests.support.stores import TWO, open_table
from tests.support.table_interceptors import PausedTable


def ignore_rows(count: int = 1) -> None:
    """Show no progress."""


async def pause_repair(store: Store, calls: int) -> bool:
    """Pause a repair behind so many calls, while another one ends and the count grows again.

    Returns False if it did not make as many.
    """
    session = await create_groups(store)
    await make(session, USA, "one")
    group = Key("GC:/usa", "GC:01")
    await store.table.transact([Update(key=group, add={"grants": 1})])

    async def repair_and_create() -> None:
        await recount(store.table, 1, ignore_rows, repair=True)
        await make(session, USA, "two")

    paused = PausedTable(store.table, repair_and_create, calls=calls)
    with suppress(Unavailable):
        await recount(paused, 1, ignore_rows, repair=True)
    if paused.left >= 0:
        return False
    assert (await contents(store.table))[group]["grants"] == 2, f"after {calls} calls"
    assert await faults(store.table) == []
    return True


@pytest.mark.parametrize("name", TWO)
async def test_a_paused_repair_sets_no_count_that_another_one_has_made_right(
    name: str, tmp_path: Path
) -> None:
    for calls in count():
        folder = tmp_path / f"{calls}"
        folder.mkdir()
        async with open_table(name, folder) as table:
            if not await pause_repair(Store(table, shards=1), calls):
                break
    assert calls > 3
