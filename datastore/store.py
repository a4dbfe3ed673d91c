"""The door to everything stored: repositories bound to a caller, and nothing without one."""

from dataclasses import dataclass, field

from datastore.access import Caller
from datastore.clock import Clock
from datastore.groups import Groups
from datastore.layout import PIPELINE
from datastore.metered import Metered, Units
from datastore.records import Pipeline
from datastore.repository import Repository
from datastore.resources.deleting import Deleting
from datastore.resources.scope import Budget, Scope
from datastore.table import Key, Table


@dataclass(frozen=True, slots=True)
class View:
    """What one caller sees; `units` counts what it costs to look."""

    caller: Caller
    units: Units
    groups: Groups
    pipelines: Repository[Pipeline]


@dataclass(frozen=True, slots=True)
class Store:
    """A table, and the clock and budget that its views work with."""

    table: Table
    clock: Clock = field(default_factory=Clock)
    budget: Budget = field(default_factory=Budget)

    def seen_by(self, caller: Caller) -> View:
        """Open a view for one request; the only way to a repository."""
        table = Metered(self.table)
        scope = Scope(table, caller, self.clock, self.budget)
        return View(caller, table.units, Groups(scope), Repository.of(PIPELINE, scope))

    async def ping(self) -> None:
        """Read one key, to learn whether the table answers; raises Unavailable."""
        await self.table.get([Key("ping", "ping")])

    async def finish_deletes(self) -> int:
        """Go on with deletes that were cut short; return how many there were."""
        nobody = Scope(self.table, Caller("", {}), self.clock, self.budget)
        return await Deleting(PIPELINE, nobody).sweep()
