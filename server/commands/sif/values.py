"""The activities of SIF with their values, as files of rows for each execution that wrote them.

SQLite, on the disk, joins the tables: an export has more values than memory.
"""

import csv
import sqlite3
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Final, NamedTuple

from penstock.server.commands.sif.export_files import SifExport
from penstock.server.commands.sif.pipelines import SifPipeline
from penstock.server.core.command_output import CommandFailed, ExitCode
from penstock.transform.header import describe_malformed

VALUE_TABLES: Final = (
    *("ActivityNumberValue", "ActivityStringValue"),
    *("ActivityBooleanValue", "ActivityDateTimeValue"),
)
KEY_COLUMNS: Final = ("key1", "key2", "key3", "key4", "key5")
BATCH: Final = 10_000
_TABLES: Final = """
    CREATE TABLE activity (
        id TEXT PRIMARY KEY, grp TEXT, pipeline TEXT, date TEXT,
        key1 TEXT, key2 TEXT, key3 TEXT, key4 TEXT, key5 TEXT) WITHOUT ROWID;
    CREATE TABLE value (
        pipeline TEXT, execution TEXT, activity TEXT, name TEXT, created TEXT, val TEXT,
        error TEXT);
"""
_HISTORY: Final = """
    SELECT execution, min(created) FROM value WHERE pipeline = ?
    GROUP BY execution ORDER BY min(created), execution
"""
_COUNT: Final = """
    SELECT count(*) FROM (SELECT DISTINCT execution, activity FROM value WHERE pipeline = ?)
"""
_FAULTS: Final = """
    SELECT count(*) FILTER (WHERE error IN ('t', 'true')),
           count(*) FILTER (WHERE pipeline IS NULL) FROM value
"""
_ROWS: Final = """
    SELECT activity.id, grp, date, key1, key2, key3, key4, key5, name, val
    FROM value JOIN activity ON activity.id = value.activity
    WHERE value.pipeline = ? AND execution = ?
    ORDER BY activity.id, created
"""


class SifValues:
    """The values of an export, in SQLite; `orphans` count those without activity.

    `errors` count those in whose place SIF has an error.
    """

    def __init__(self, file: Path) -> None:
        self._connection = sqlite3.connect(file)
        self._connection.executescript(_TABLES)
        self.orphans = 0
        self.errors = 0

    def close(self) -> None:
        self._connection.close()

    def load(self, export: SifExport) -> None:
        """Read all tables of activities; an export without them has no values."""
        if (activities := export.activities("Activity")) is None:
            return
        fields = ("activityId", "groupId", "pipelineId", "date", *KEY_COLUMNS)
        for batch in _read_batches(activities, fields):
            self._connection.executemany(
                "INSERT OR REPLACE INTO activity VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)", batch
            )
        for name in VALUE_TABLES:
            if (path := export.activities(name)) is not None:
                self._load_values(path)
        self._connection.execute("CREATE INDEX by_run ON value (pipeline, execution, activity)")
        self.errors, self.orphans = self._connection.execute(_FAULTS).fetchone()
        self._connection.commit()

    def _load_values(self, path: Path) -> None:
        fields = ("activityId", "executionId", "name", "createdAt", "val", "error")
        sql = (
            "INSERT INTO value SELECT (SELECT pipeline FROM activity WHERE id = ?1),"
            " ?2, ?1, ?3, ?4, ?5, ?6"
        )
        for batch in _read_batches(path, fields):
            self._connection.executemany(sql, batch)

    def count_rows(self, pipeline: str) -> int:
        """Count the rows of a pipeline with those that later ones corrected."""
        return int(self._connection.execute(_COUNT, (pipeline,)).fetchone()[0])

    def executions(self, pipeline: str) -> list[str]:
        """Return the executions that wrote values of a pipeline, the earliest first."""
        return [str(one) for one, _ in self._connection.execute(_HISTORY, (pipeline,))]

    def write_rows(self, id: str, pipeline: SifPipeline, execution: str, target: Path) -> int:
        """Write the rows that an execution wrote as a file of inputs; return their number."""
        names = [str(output["key"]) for output in pipeline.outputs]
        types = {str(output["key"]): str(output["type"]) for output in pipeline.outputs}
        count = 0
        with target.open("w", encoding="utf-8", newline="") as file:
            lines = csv.writer(file)
            lines.writerow(names)
            for row in self._rows(id, execution):
                values = {**row.values, **dict(zip(pipeline.keys, row.keys, strict=False))}
                values |= {pipeline.time or "": row.date, pipeline.group or "": row.group}
                lines.writerow([_text(values.get(name), types[name]) for name in names])
                count += 1
        return count

    def _rows(self, pipeline: str, execution: str) -> Iterator["ActivityRow"]:
        row: ActivityRow | None = None
        for id, group, date, *keys, name, val in self._connection.execute(
            _ROWS, (pipeline, execution)
        ):
            if row is None or row.id != id:
                if row is not None:
                    yield row
                row = ActivityRow(id, group, date, keys, {})
            row.values[name] = val
        if row is not None:
            yield row


class ActivityRow(NamedTuple):
    """An activity as one execution wrote it."""

    id: str
    group: str
    date: str
    keys: list[str | None]
    values: dict[str, str | None]


def _read_batches(path: Path, fields: tuple[str, ...]) -> Iterator[list[list[str | None]]]:
    """Yield rows of a CSV file with headings, some at a time; an empty field is null."""
    batch: list[list[str | None]] = []
    for row in _read_rows(path, fields):
        batch.append([row[field] or None for field in fields])
        if len(batch) >= BATCH:
            yield batch
            batch = []
    yield batch


def _read_rows(path: Path, fields: tuple[str, ...]) -> Iterator[dict[str, str | None]]:
    """Yield the rows by their headings; raises CommandFailed for a file without these fields."""
    with path.open(encoding="utf-8-sig", newline="") as file:
        reader = csv.DictReader(file, strict=True)
        try:
            if missing := [one for one in fields if one not in (reader.fieldnames or ())]:
                words = f"{path} lacks the columns {', '.join(missing)}."
                raise CommandFailed(words, code=ExitCode.USAGE)
            yield from reader
        except UnicodeDecodeError:
            raise CommandFailed(f"{path} is no UTF-8.", code=ExitCode.USAGE) from None
        except csv.Error as error:
            place = f"{path}, behind line {reader.line_num}"
            words = f"{place}: {describe_malformed(error)}."
            raise CommandFailed(words, code=ExitCode.USAGE) from None


def _text(value: str | None, type: str) -> str:
    """Return a value of PostgreSQL as an input has it."""
    if value is None:
        return ""
    if type == "BOOLEAN":
        return {"t": "true", "f": "false"}.get(value, value)
    return milliseconds(value) if type == "TIMESTAMP" else value


def milliseconds(text: str) -> str:
    """Return a time of PostgreSQL, which SIF keeps in UTC, as epoch milliseconds."""
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        return text  # the server rejects the row and says why
    return str(round(moment.replace(tzinfo=moment.tzinfo or UTC).timestamp() * 1000))
