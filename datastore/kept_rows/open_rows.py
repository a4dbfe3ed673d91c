"""A snapshot of a pipeline's rows that a caller has opened, and pays for by what queries take."""

from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from typing import Final, TypeVar

from penstock.datastore.access.access import Access
from penstock.datastore.access.work import WorkPayer, load_units
from penstock.datastore.errors import NotFound, Unavailable
from penstock.datastore.kept_rows.database import Connection
from penstock.datastore.kept_rows.engine import RowsEngine
from penstock.datastore.kept_rows.part_files import PartFiles
from penstock.datastore.kept_rows.records import RowsPart
from penstock.datastore.kept_rows.snapshot import Snapshot

T = TypeVar("T")

QUERY_UNITS: Final = 100
"""Units of a query besides those of the files: it takes a thread for some milliseconds."""

PAID_SHARE: Final = 20
"""Of so many bytes of files a query pays for one: an engine reads columns, not rows."""

LISTED_PARTS: Final = 10
"""Commits in the list of a pipeline's rows that are read in one unit."""


@dataclass(slots=True)
class OpenRows:
    """A snapshot whose files are on this machine until the block ends.

    The first query has been paid by the size of the files; what it takes beyond that, and what
    later ones take, is owed by processor time.
    """

    snapshot: Snapshot
    _engine: RowsEngine
    _payer: WorkPayer

    async def run(self, work: Callable[[Connection], T]) -> T:
        """Do work with a connection, at the caller's turn; raises what `RowsEngine.read` raises."""
        payer, self._payer = self._payer, self._payer._replace(prepaid=0)
        return await self._engine.read(work, payer)


@asynccontextmanager
async def open_rows(
    access: Access, part_files: PartFiles, parts: Sequence[RowsPart]
) -> AsyncIterator[OpenRows]:
    """Open a snapshot of some parts.

    Raises RateLimited before anything is read, and Unavailable.
    """
    size = sum(one.size for one in parts)
    units = QUERY_UNITS + load_units(size // PAID_SHARE) + len(parts) // LISTED_PARTS
    access.work.spend_more(units)
    payer = WorkPayer(access.caller.user_id, access.work, units)
    async with AsyncExitStack() as stack:
        try:
            paths = await stack.enter_async_context(part_files.open(access.files, parts))
        except NotFound as missing:
            raise Unavailable("A file of the rows is gone.") from missing
        yield OpenRows(Snapshot(parts, paths), part_files.engine, payer)
