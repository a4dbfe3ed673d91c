"""Parquet as CSV, read by DuckDB."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

from penstock.datastore.input_files.kinds import unreadable_file
from penstock.datastore.kept_rows.database import Connection, quote_name, quote_text
from penstock.transform.csv_text import csv_lines

BATCH: Final = 200

ROW_BYTES: Final = 64 * 1024
"""Bytes of a row; the engine reads 2,048 of them at a time, however long they are."""

_NOT_WHOLE: Final = "it is no whole Parquet file"
_TOO_LONG: Final = f"a row has more than {ROW_BYTES} bytes"


def read_parquet(connection: Connection, path: Path) -> Iterator[bytes]:
    """Yield a Parquet file as CSV; raises InputRefused where it is damaged."""
    import duckdb  # noqa: PLC0415 - it comes with an extra

    source = f"read_parquet({quote_text(str(path))})"
    try:
        found = connection.execute(f"DESCRIBE SELECT * FROM {source}").fetchall()
        types = {str(name): str(type) for name, type, *_ in found}
        yield csv_lines([list(types)])
        connection.execute(_bounded_rows(source, types))
        while rows := connection.fetchmany(BATCH):
            yield csv_lines(rows)
    except duckdb.OutOfMemoryException:
        raise MemoryError from None
    except duckdb.Error as error:
        # The words of the engine show its query and the path of the copy on this machine.
        reason = _TOO_LONG if _TOO_LONG in str(error) else _NOT_WHOLE
        raise unreadable_file(reason) from None
    except MemoryError:
        raise
    except Exception:  # the engine may raise anything for a damaged file
        raise unreadable_file(_NOT_WHOLE) from None


def _bounded_rows(source: str, types: Mapping[str, str]) -> str:
    """The query of all rows as texts; it fails at a row that is too long to be fetched."""
    texts = [
        f"{_text_of(quote_name(name), type)} AS c{n}"
        for n, (name, type) in enumerate(types.items())
    ]
    names = [f"c{n}" for n in range(len(types))]
    # One sum of a list: a chain of additions is nested too deep for some 1,000 columns.
    length = f"list_sum([{', '.join(f'strlen({name})' for name in names)}])"
    return (
        f"SELECT {', '.join(names)} FROM (SELECT {', '.join(texts)} FROM {source}) "
        f"WHERE CASE WHEN {length} > {ROW_BYTES} THEN error({quote_text(_TOO_LONG)}) ELSE true END"
    )


def _text_of(column: str, type: str) -> str:
    """The expression of a value as CSV has it: times in ISO 8601, lists and structs as JSON."""
    if type == "TIMESTAMP WITH TIME ZONE":
        return f"strftime({column}, '%Y-%m-%dT%H:%M:%S.%gZ')"
    if type.startswith("TIMESTAMP"):
        return f"strftime(CAST({column} AS TIMESTAMP), '%Y-%m-%dT%H:%M:%S.%g')"
    if type.endswith("]") or type.startswith(("STRUCT", "MAP", "UNION")):
        return f"CAST(to_json({column}) AS VARCHAR)"
    return f"CAST({column} AS VARCHAR)"
