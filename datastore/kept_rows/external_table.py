"""Statements by which other engines read the files of kept rows: a table, and a view of the rows.

The view has the latest version of each row, without those that were withdrawn, as of the commits
that are listed when the statements are made. Files of other commits lie in the same folder.
"""

from collections.abc import Callable, Mapping, Sequence
from enum import StrEnum
from typing import Final, NamedTuple

from penstock.datastore.kept_rows.columns import EXECUTION, GROUP, KEY, ROW, TIME, VERSION
from penstock.datastore.kept_rows.database import quote_name, quote_text
from penstock.datastore.kept_rows.part_keys import rows_folder
from penstock.datastore.kept_rows.records import PartKind, RowsPart
from penstock.datastore.kept_rows.snapshot import COMMIT, WITHDRAWN


class ExternalEngine(StrEnum):
    """An engine that reads the files."""

    ATHENA = "athena"
    TRINO = "trino"
    SPARK = "spark"
    DUCKDB = "duckdb"


class _Dialect(NamedTuple):
    """The words of an engine for names, types, a table over a folder, and the file of a row.

    `quote_folder` writes the place of the table as a literal.
    """

    quote: Callable[[str], str]
    quote_folder: Callable[[str], str]
    text: str
    time: str
    table: str
    file_name: str


def _in_backticks(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"


def _escape_text(text: str) -> str:
    """A text as a literal of engines that join two texts side by side, as those of Hive do."""
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"


_FILE_OF_PATH: Final = """regexp_extract("$path", '[^/]+$')"""
_DIALECTS: Final[Mapping[ExternalEngine, _Dialect]] = {
    ExternalEngine.ATHENA: _Dialect(
        _in_backticks,
        _escape_text,
        "string",
        "timestamp",
        "CREATE EXTERNAL TABLE {name} (\n  {columns}\n)\nSTORED AS PARQUET\nLOCATION {folder}",
        _FILE_OF_PATH,
    ),
    ExternalEngine.TRINO: _Dialect(
        quote_name,
        quote_text,
        "varchar",
        "timestamp(6)",
        "CREATE TABLE {name} (\n  {columns}\n)\n"
        "WITH (format = 'PARQUET', external_location = {folder})",
        _FILE_OF_PATH,
    ),
    ExternalEngine.SPARK: _Dialect(
        _in_backticks,
        _escape_text,
        "STRING",
        "TIMESTAMP_NTZ",
        "CREATE TABLE {name} (\n  {columns}\n)\nUSING PARQUET\nLOCATION {folder}",
        "_metadata.file_name",
    ),
    ExternalEngine.DUCKDB: _Dialect(
        quote_name,
        quote_text,
        "VARCHAR",
        "TIMESTAMP",
        "CREATE OR REPLACE VIEW {name} AS\nSELECT * FROM read_parquet({pattern},\n"
        "  union_by_name = true, filename = '_file')",
        "parse_filename(_file)",
    ),
}


def write_statements(
    engine: ExternalEngine, name: str, location: str, pipeline: str, parts: Sequence[RowsPart]
) -> str:
    """Write the statements for the rows of a pipeline, whose folders lie in a location.

    The table has the name, and the view `<name>_latest`.
    """
    dialect = _DIALECTS[engine]
    folder = f"{location.rstrip('/')}/{rows_folder(pipeline)}"
    outputs = list({key: None for part in parts for key in part.types})
    columns = _columns(dialect, outputs)
    made = dict(columns)
    if any(part.merged for part in parts):
        made |= {COMMIT: "bigint", WITHDRAWN: "boolean"}
    table = dialect.table.format(
        name=dialect.quote(name),
        columns=",\n  ".join(f"{dialect.quote(key)} {type}" for key, type in made.items()),
        folder=dialect.quote_folder(folder),
        pattern=dialect.quote_folder(f"{folder}*.parquet"),
    )
    return f"{table};\n\n{_view(engine, name, list(columns), parts)};\n"


def _columns(dialect: _Dialect, outputs: Sequence[str]) -> dict[str, str]:
    """The columns of the table with their types: outputs as texts, and what identifies a row."""
    return {
        **dict.fromkeys(outputs, dialect.text),
        KEY: dialect.text,
        TIME: dialect.time,
        GROUP: dialect.text,
        EXECUTION: dialect.text,
        ROW: "bigint",
        VERSION: "int",
    }


def _view(
    engine: ExternalEngine, name: str, columns: Sequence[str], parts: Sequence[RowsPart]
) -> str:
    dialect = _DIALECTS[engine]
    # Athena writes names in backticks where it makes tables, and in quotes where it reads them.
    quote = quote_name if engine is ExternalEngine.ATHENA else dialect.quote
    shown = ", ".join(map(quote, columns))
    listed = ",\n      ".join(_listed_files(parts))
    # No output has a name that begins with an underline.
    own = ("_is_withdrawn", "_place", "_file_name", "_listed_file", "_listed_commit", "_leaves")
    is_withdrawn, place, file_name, listed_file, listed_commit, leaves = map(quote, own)
    number, withdrawn, listed_only = listed_commit, leaves, ""
    if any(part.merged for part in parts):  # whose rows have their own
        number = f"coalesce({quote(COMMIT)}, {listed_commit})"
        withdrawn = f"coalesce({quote(WITHDRAWN)}, {leaves})"
        # Some commits of a merged file may have left, and others come while the list was read.
        listed_only = f"\n  WHERE {number} BETWEEN {parts[0].commit} AND {parts[-1].commit}"
    return f"""CREATE OR REPLACE VIEW {quote(name + "_latest")} AS
SELECT {shown}
FROM (
  SELECT {shown}, {withdrawn} AS {is_withdrawn}, row_number() OVER (
      PARTITION BY {quote(KEY)} ORDER BY {number} DESC) AS {place}
  FROM (SELECT *, {dialect.file_name} AS {file_name} FROM {quote(name)}) files
  JOIN (VALUES
      {listed}
    ) AS commits ({listed_file}, {listed_commit}, {leaves})
    ON {listed_file} = {file_name}{listed_only}
) versions
WHERE {place} = 1 AND NOT {is_withdrawn}"""


def _listed_files(parts: Sequence[RowsPart]) -> list[str]:
    """Each file with its commit and whether it withdraws; null where rows have these."""
    found: dict[str, str] = {}
    for part in parts:
        name = quote_text(part.file.rpartition("/")[2])
        own = f"{part.commit}, {str(part.kind is PartKind.WITHDRAWAL).lower()}"
        unknown = "CAST(NULL AS bigint), CAST(NULL AS boolean)"
        found[part.file] = f"({name}, {unknown if part.merged else own})"
    return list(found.values())
