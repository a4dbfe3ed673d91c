"""Debts of users for the processor time of workers, until a server takes them from their rates.

A worker may be another process or machine than the server that limits the user. It writes what the
user owes as it works, so that a worker that is killed takes only the last seconds with it.
"""

import logging
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from datetime import timedelta
from typing import Final

from penstock.datastore.access.work import worker_units
from penstock.datastore.clock import Clock
from penstock.datastore.errors import PenstockError
from penstock.datastore.periodic import PeriodicTask, run_periodically
from penstock.datastore.table.layout import WORK_DEBT
from penstock.datastore.table.port import (
    TTL,
    Compare,
    ConditionFailed,
    Delete,
    Query,
    Range,
    Table,
    Update,
    Value,
    key_of,
)

KEPT: Final = timedelta(hours=1)
"""The time after which a debt that no server took is forgotten: waiting pays debts as well."""

MOST_DEBTS: Final = 1_000
"""Debts that are taken at once; a row is a user."""

CHARGE_SECONDS: Final = 10.0
"""The seconds after which a user owes what some work took meanwhile."""

NOT_CHARGED: Final = "what a user owes for processor time could not be written"

logger = logging.getLogger("penstock.debts")


@dataclass(frozen=True, slots=True)
class WorkDebts:
    """The debts of users over one table."""

    table: Table
    clock: Clock

    async def add(self, user: str, units: int) -> None:
        """Let a user owe more units: `pk = WD, sk = WD:<user>`; 2 write units."""
        expiry = int((self.clock.now() + KEPT).timestamp())
        facts: dict[str, Value] = {"user": user, TTL: expiry}
        debt = Update(key=WORK_DEBT.key(user=user), set=facts, add={"units": units})
        await self.table.transact([debt])

    @asynccontextmanager
    async def charge_while(
        self, user: str, seconds: Callable[[], float], paid: int = 0
    ) -> AsyncIterator[None]:
        """Let a user owe the processor time of work, every few seconds and at the end of the block.

        `seconds` tells what it took until now, of which so many units are `paid`. The work goes on
        if what it cost cannot be written.
        """
        bill = _TimeBill(self, user, seconds, paid)
        charging = PeriodicTask(bill.charge, CHARGE_SECONDS, logger, NOT_CHARGED)
        try:
            async with run_periodically(charging):
                yield
        finally:
            with suppress(PenstockError):
                await bill.charge()

    async def take_all(self, charge: Callable[[str, int], None]) -> int:
        """Charge each user's debt to the account that this server keeps; count the users.

        A debt is taken by one server, and by the next call where a worker adds to it meanwhile.
        """
        query = Query(
            partition=WORK_DEBT.pk.fill({}), range=Range(WORK_DEBT.sk.prefix({})), limit=MOST_DEBTS
        )
        taken = 0
        for row in (await self.table.query(query)).items:
            key, units = key_of(row), int(str(row["units"]))
            try:
                await self.table.transact([Delete(key, Compare("units", "=", units))])
            except ConditionFailed:
                continue
            if int(str(row[TTL])) > self.clock.now().timestamp():
                charge(str(row["user"]), units)
            taken += 1
        return taken


@dataclass(slots=True)
class _TimeBill:
    """The bill of a user for the time of some work, of which so many units are paid."""

    debts: WorkDebts
    user: str
    seconds: Callable[[], float]
    paid: int

    async def charge(self) -> None:
        """Let the user owe what was taken beyond what is paid."""
        if (units := worker_units(self.seconds()) - self.paid) > 0:
            self.paid += units
            try:
                await self.debts.add(self.user, units)
            except PenstockError:
                self.paid -= units
                raise
