"""Parquet as CSV, read by DuckDB."""

from collections.abc import Iterator
from pathlib import Path
from typing import Final

from penstock.datastore.input_files.kinds import unreadable_file
from penstock.datastore.kept_rows.engine import Connection, quote_name, quote_text
from penstock.transform.outcome import csv_lines

BATCH: Final = 5_000


def read_parquet(connection: Connection, path: Path) -> Iterator[bytes]:
    """Yield a Parquet file as CSV; raises InputRefused where it is damaged."""
    import duckdb  # noqa: PLC0415 - it comes with an extra

    source = f"read_parquet({quote_text(str(path))})"
    try:
        found = connection.execute(f"DESCRIBE SELECT * FROM {source}").fetchall()
        types = {str(name): str(type) for name, type, *_ in found}
        columns = ", ".join(_text_of(quote_name(name), type) for name, type in types.items())
        yield csv_lines([list(types)])
        connection.execute(f"SELECT {columns} FROM {source}")
        while rows := connection.fetchmany(BATCH):
            yield csv_lines(rows)
    except duckdb.OutOfMemoryException:
        raise
    except duckdb.Error as error:
        raise unreadable_file(f"it is no whole Parquet file: {error}"[:300]) from None


def _text_of(column: str, type: str) -> str:
    """The expression of a value as CSV has it: times in ISO 8601, lists and structs as JSON."""
    if type == "TIMESTAMP WITH TIME ZONE":
        return f"strftime({column}, '%Y-%m-%dT%H:%M:%S.%gZ')"
    if type.startswith("TIMESTAMP"):
        return f"strftime(CAST({column} AS TIMESTAMP), '%Y-%m-%dT%H:%M:%S.%g')"
    if type.endswith("]") or type.startswith(("STRUCT", "MAP", "UNION")):
        return f"CAST(to_json({column}) AS VARCHAR)"
    return f"CAST({column} AS VARCHAR)"
