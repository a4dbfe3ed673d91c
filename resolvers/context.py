"""The context of one request: the session of its caller, loaders over it, and cursors."""

from asyncio import Lock, sleep
from functools import cached_property

import msgspec

from penstock.datastore.access.work import FREE_WORK, TOKEN_CHARACTERS, WorkAccount
from penstock.datastore.clock import Clock
from penstock.datastore.resources.changes import RowChanges
from penstock.datastore.roles import ROOT, Caller, Role
from penstock.datastore.session import Session
from penstock.datastore.store import Store
from penstock.datastore.table.instrumentation import Units
from penstock.datastore.table.session_table import ReadConsistency, WrittenRow
from penstock.resolvers.consistency import open_token, seal_token
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
    `known` are the rows in the client's consistency token. `system` is the store itself if
    the caller is an administrator of `/`, for reports on the whole installation.
    """

    session: Session
    loaders: Loaders
    cursors: Cursors
    changes: RowChanges
    clock: Clock
    known: tuple[WrittenRow, ...] = ()
    system: Store | None = None
    turns: ListTurns = msgspec.field(default_factory=ListTurns)

    @classmethod
    def open(
        cls,
        store: Store,
        caller: Caller,
        cursors: Cursors,
        changes: RowChanges,
        work: WorkAccount = FREE_WORK,
        *,
        consistent: bool = False,
        token: str | None = None,
        address: str | None = None,
    ) -> "Context":
        """Create the context of a request or an event; call it in the running event loop.

        `consistent` lets all its reads be consistent, as a consistency `token` does; raises
        BadArgument for a token that is not one, which is paid as any. `address` is that of the
        client.
        """
        known: tuple[WrittenRow, ...] = ()
        reads = ReadConsistency(consistent=True) if consistent else None
        if token is not None:
            work.owe(len(token) // TOKEN_CHARACTERS)
            known = open_token(cursors, token, store.clock.now())
            reads = ReadConsistency(consistent=True, written=tuple(row.key for row in known))
        session = store.open_session(caller, work, reads, address)
        system = store if caller.has_role(Role.ADMIN, ROOT) else None
        return cls(session, Loaders(session), cursors, changes, store.clock, known, system)

    @property
    def consistency_token(self) -> str | None:
        """The token that makes later requests show what this one wrote; None if it wrote nothing.

        Rows that the client's own token names go on in it.
        """
        table = self.session.own_writes
        if table is None or not table.has_written:
            return None
        now = int(self.clock.now().timestamp())
        written = [WrittenRow(key, now) for key in table.written]
        return seal_token(self.cursors, self.known, written)

    @property
    def caller(self) -> Caller:
        return self.session.caller

    @property
    def units(self) -> Units:
        return self.session.units
