"""Debts of users for the time of workers are added up, and charged once, by one server."""

from collections.abc import Sequence
from datetime import timedelta
from pathlib import Path

import pytest

from penstock.datastore.access import work_debts
from penstock.datastore.access.work import worker_units
from penstock.datastore.access.work_debts import WorkDebts
from penstock.datastore.clock import Clock
from penstock.datastore.errors import Unavailable
from penstock.datastore.store import Store
from penstock.datastore.table.port import Operation
from penstock.server.runtime.maintenance import maintain_executions
from penstock.server.settings.settings import Settings
from tests.support.consistency_check import contents, faults
from tests.support.patience import until
from tests.support.sample_resources import Watch, on_sqlite
from tests.support.table_interceptors import InterceptedTable

Charges = list[tuple[str, int]]


async def take_debts(debts: WorkDebts) -> Charges:
    charges: Charges = []
    await debts.take_all(lambda user, units: charges.append((user, units)))
    return charges


async def test_debts_of_a_user_are_added_and_charged_once(store: Store) -> None:
    debts = store.work_debts
    for user, units in (("ann:1", 5), ("bob", 2), ("ann:1", 30)):
        await debts.add(user, units)
    assert await faults(store.table) == []
    assert await take_debts(debts) == [("ann:1", 35), ("bob", 2)]
    assert await take_debts(debts) == []
    assert [key for key in await contents(store.table) if key.pk == "WD"] == []


async def test_a_debt_that_no_server_took_within_an_hour_is_forgotten(
    store: Store, watch: Watch
) -> None:
    debts = store.work_debts
    await debts.add("ann", 5)
    watch.move(timedelta(minutes=59))
    await debts.add("bob", 5)
    watch.move(timedelta(minutes=2))
    assert await take_debts(debts) == [("bob", 5)]
    assert [key for key in await contents(store.table) if key.pk == "WD"] == []


async def test_time_is_owed_while_work_goes_on_and_once(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(work_debts, "CHARGE_SECONDS", 0.01)
    debts, taken = store.work_debts, [0.0]
    charges: Charges = []

    async def is_charged() -> bool:
        charges.extend(await take_debts(debts))
        return bool(charges)

    async with debts.charge_while("ann", lambda: taken[0], paid=100):
        taken[0] = 1.0
        await until(is_charged)
        monkeypatch.setattr(WorkDebts, "add", fail_to_add)
        taken[0] = 3.0
    assert charges == [("ann", worker_units(1.0) - 100)]
    monkeypatch.undo()
    async with debts.charge_while("ann", lambda: taken[0], paid=worker_units(1.0)):
        pass
    assert await take_debts(debts) == [("ann", worker_units(2.0))]


async def fail_to_add(_debts: WorkDebts, _user: str, _units: int) -> None:
    raise Unavailable("busy")


class _BusyTable(InterceptedTable):
    """A table where a worker adds to the debt of a user between its read and its removal."""

    async def transact(self, operations: Sequence[Operation]) -> float:
        await WorkDebts(self._table, Clock()).add("ann", 7)
        return await super().transact(operations)


async def test_what_a_worker_adds_meanwhile_is_charged_with_the_rest(store: Store) -> None:
    debts = store.work_debts
    await debts.add("ann", 5)
    assert await take_debts(WorkDebts(_BusyTable(store.table), store.clock)) == []
    assert await take_debts(debts) == [("ann", 12)]


@on_sqlite
async def test_a_server_charges_what_workers_elsewhere_wrote(store: Store, tmp_path: Path) -> None:
    settings = Settings.load(data_dir=tmp_path, execution_poll_seconds=0.01)
    charges: Charges = []
    await store.work_debts.add("ann", 5)
    async with maintain_executions(
        store, settings, lambda user, units: charges.append((user, units))
    ):
        await until(lambda: charges)
    assert charges == [("ann", 5)]
