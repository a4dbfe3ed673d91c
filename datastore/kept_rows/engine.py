"""DuckDB, which writes and reads the files of kept rows, in threads and with bounded memory."""

import asyncio
import importlib.util
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from shutil import rmtree
from tempfile import mkdtemp
from typing import TYPE_CHECKING, Final, TypeAlias, TypeVar
from weakref import finalize

from penstock.datastore.errors import LimitExceeded, Unavailable

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

Connection: TypeAlias = "DuckDBPyConnection"
T = TypeVar("T")

MEMORY_BYTES: Final = 384_000_000
"""Bytes that one query may hold; the rest it writes to the disk."""

SPILLED: Final = "8GB"
THREADS: Final = 2
PLACES: Final = 2
"""Queries at the same time."""

MISSING: Final = "This server keeps no rows: install it with the extra `results`."


def is_installed() -> bool:
    """Whether the engine is there; it comes with the extra `results`."""
    return importlib.util.find_spec("duckdb") is not None


@dataclass(slots=True, eq=False, weakref_slot=True)
class RowsEngine:
    """Runs queries over files below a folder of its own, each with a connection of its own.

    A query reads and writes no other files, and loads nothing.
    """

    _folder: Path | None = None
    _places: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(PLACES))

    @property
    def folder(self) -> Path:
        """The folder of local files, which is removed with the engine, or when the process ends."""
        if self._folder is None:
            self._folder = Path(mkdtemp(prefix="penstock-rows-"))
            finalize(self, rmtree, self._folder, ignore_errors=True)
        return self._folder

    async def run(self, work: Callable[[Connection], T]) -> T:
        """Do work with a connection in a thread, and return its result.

        Raises Unavailable where the engine is not installed, and LimitExceeded for what takes more
        memory than there is. A caller who is cancelled interrupts the query.
        """
        if not is_installed():
            raise Unavailable(MISSING)
        async with self._places:
            connection = await asyncio.to_thread(_open_connection, self.folder)
            running = asyncio.ensure_future(asyncio.to_thread(_run_bounded, work, connection))
            try:
                return await asyncio.shield(running)
            except asyncio.CancelledError:
                connection.interrupt()
                await asyncio.wait([running])
                raise
            finally:
                connection.close()


def _open_connection(folder: Path) -> Connection:
    import duckdb  # noqa: PLC0415 - it comes with an extra

    spill = folder / "spill"
    connection = duckdb.connect(
        ":memory:",
        config={
            "memory_limit": f"{MEMORY_BYTES}B",
            "threads": THREADS,
            "temp_directory": str(spill),
            "max_temp_directory_size": SPILLED,
            "autoinstall_known_extensions": False,
            "autoload_known_extensions": False,
            "allow_community_extensions": False,
        },
    )
    connection.execute(f"SET allowed_directories = [{quote_text(str(folder))}]")
    connection.execute("SET TimeZone = 'UTC'")
    connection.execute("SET enable_external_access = false")
    connection.execute("SET lock_configuration = true")
    return connection


def _run_bounded(work: Callable[[Connection], T], connection: Connection) -> T:
    import duckdb  # noqa: PLC0415 - it comes with an extra

    try:
        return work(connection)
    except duckdb.OutOfMemoryException:
        limit = "bytes of memory of a query over rows"
        raise LimitExceeded(limit, MEMORY_BYTES, MEMORY_BYTES + 1) from None


def quote_text(text: str) -> str:
    """A text as a literal of SQL."""
    return "'" + text.replace("'", "''") + "'"


def quote_name(name: str) -> str:
    """A name as an identifier of SQL."""
    return '"' + name.replace('"', '""') + '"'
