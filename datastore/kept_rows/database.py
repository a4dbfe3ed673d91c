"""Databases in memory of DuckDB, which read and write files below one folder."""

from pathlib import Path
from typing import TYPE_CHECKING, Final, TypeAlias

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

Connection: TypeAlias = "DuckDBPyConnection"

MEMORY_BYTES: Final = 320_000_000
"""Bytes that one query may hold; the rest it writes to the disk."""

SPILLED: Final = "8GB"


def open_database() -> Connection:
    """Open a database in memory, to be confined to a folder before it is used.

    It has no threads but that of the query, whose processor time is so that of the query.
    """
    import duckdb  # noqa: PLC0415 - it comes with an extra

    return duckdb.connect(
        ":memory:",
        config={
            "memory_limit": f"{MEMORY_BYTES}B",
            "threads": 1,
            "async_threads": 0,
            "max_temp_directory_size": SPILLED,
            "autoinstall_known_extensions": False,
            "autoload_known_extensions": False,
            "allow_community_extensions": False,
        },
    )


def confine(database: Connection, folder: Path) -> None:
    """Let a database read and write files below a folder, and no others, from now on."""
    database.execute(f"SET temp_directory = {quote_text(str(folder / 'spill'))}")
    database.execute(f"SET allowed_directories = [{quote_text(str(folder))}]")
    database.execute("SET TimeZone = 'UTC'")
    database.execute("SET enable_external_access = false")
    database.execute("SET lock_configuration = true")


def quote_text(text: str) -> str:
    """A text as a literal of SQL."""
    return "'" + text.replace("'", "''") + "'"


def quote_name(name: str) -> str:
    """A name as an identifier of SQL."""
    return '"' + name.replace('"', '""') + '"'
