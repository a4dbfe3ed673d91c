"""The context of one request: the session of its caller, loaders over it, and cursors."""

from asyncio import Lock, sleep
from functools import cached_property

import msgspec

from penstock.datastore.resources.changes import RowChanges
from penstock.datastore.roles import Caller
from penstock.datastore.store import Session, Store
from penstock.datastore.table.instrumentation import Units
from penstock.resolvers.cursors import Cursors
from penstock.resolvers.loaders import Loaders


class Turns:
    """Lets only one long list of an answer be assembled at a time, with other work in between."""

    @cached_property
    def _lock(self) -> Lock:
        return Lock()

    async def take(self) -> None:
        """Wait for a turn, which lasts until the caller awaits something else."""
        async with self._lock:
            await sleep(0)


class Context(msgspec.Struct, frozen=True):
    """Made inside the request, gone with it; nothing in it is shared between callers.

    `cursors` seal positions in lists, and `changes` tells of what subscriptions follow.
    """

    session: Session
    loaders: Loaders
    cursors: Cursors
    changes: RowChanges
    turns: Turns = msgspec.field(default_factory=Turns)

    @classmethod
    def open(cls, store: Store, caller: Caller, cursors: Cursors, changes: RowChanges) -> "Context":
        """Create the context of a request or an event, inside the event loop its loaders need."""
        session = store.open_session(caller)
        return cls(session, Loaders(session), cursors, changes)

    @property
    def caller(self) -> Caller:
        return self.session.caller

    @property
    def units(self) -> Units:
        return self.session.units
