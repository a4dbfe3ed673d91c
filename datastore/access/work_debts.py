"""Debts of users for the processor time of workers, until a server takes them from their rates.

A worker may be another process or machine than the server that limits the user. It writes what the
user owes as it works, so that a worker that is killed takes only the last seconds with it.
"""

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from datetime import timedelta
from typing import Final

from penstock.datastore.access.work import worker_units
from penstock.datastore.clock import Clock
from penstock.datastore.errors import PenstockError
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

    async def charge_seconds(self, user: str, seconds: float) -> None:
        """Let a user owe processor time of a worker; the work stays if that cannot be written."""
        if units := worker_units(seconds):
            with suppress(PenstockError):
                await self.add(user, units)

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
