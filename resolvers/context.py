"""The context of one request: the session of its caller, loaders over it, and cursors."""

from asyncio import Lock, sleep
from functools import cached_property

import msgspec

from penstock.datastore.access.work import FREE_WORK, WorkAccount
from penstock.datastore.resources.changes import RowChanges
from penstock.datastore.roles import Caller
from penstock.datastore.store import Session, Store
from penstock.datastore.table.instrumentation import Units
from penstock.resolvers.cursors import Cursors
from penstock.resolvers.loaders import Loaders


class ListTurns:
    """Lets only one long list of an answer be assembled at a time, with other work in between."""

    @cached_property
    def _lock(self) -> Lock:
        return Lock()

    async def wait_for_turn(self) -> None:
        """Wait until no other list is being assembled; the turn ends at the next await."""
        async with self._lock:
            await sleep(0)


class Context(msgspec.Struct, frozen=True):
    """The objects of one request; only `cursors` and `changes` are shared with other requests.

    `cursors` seals positions in lists, and `changes` reports changes of rows to subscriptions.
    """

    session: Session
    loaders: Loaders
    cursors: Cursors
    changes: RowChanges
    turns: ListTurns = msgspec.field(default_factory=ListTurns)

    @classmethod
    def open(
        cls,
        store: Store,
        caller: Caller,
        cursors: Cursors,
        changes: RowChanges,
        work: WorkAccount = FREE_WORK,
    ) -> "Context":
        """Create the context of a request or an event; call it in the running event loop."""
        session = store.open_session(caller, work)
        return cls(session, Loaders(session), cursors, changes)

    @property
    def caller(self) -> Caller:
        return self.session.caller

    @property
    def units(self) -> Units:
        return self.session.units
