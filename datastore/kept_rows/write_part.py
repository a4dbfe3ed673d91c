"""The part of an execution: its output becomes a Parquet file of rows with their identity."""

from collections.abc import Sequence
from contextlib import aclosing
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from hashlib import file_digest, sha256
from pathlib import Path
from typing import Any, Final, NamedTuple

import msgspec

from penstock.datastore.access.work import NOBODY, WorkPayer
from penstock.datastore.clock import Clock, iso_timestamp
from penstock.datastore.datasets.staged_files import StagedFile
from penstock.datastore.kept_rows.columns import (
    EXECUTION,
    GROUP,
    KEY,
    ROW,
    TIME,
    VERSION,
    number_columns,
    with_numbers,
)
from penstock.datastore.kept_rows.database import Connection, quote_name, quote_text
from penstock.datastore.kept_rows.engine import RowsEngine
from penstock.datastore.kept_rows.open_rows import OpenRows
from penstock.datastore.kept_rows.part_files import copy_to_disk
from penstock.datastore.kept_rows.part_keys import part_key
from penstock.datastore.kept_rows.records import PartKind, RowsPart
from penstock.datastore.kept_rows.snapshot import (
    COMMIT,
    NUMBERS,
    Snapshot,
    order_of_keys,
    sort_columns,
)
from penstock.datastore.objects.local_copies import read_local
from penstock.datastore.objects.port import Files, StoredFile
from penstock.datastore.records import TimestampForm, ValueType
from penstock.formula.core.values import FormulaType
from penstock.transform.plan import TransformPlan
from penstock.transform.problems import InputRefused, TransformCode
from penstock.transform.row_identity import RowIdentity

PARQUET: Final = "application/vnd.apache.parquet"
LONGEST_LINE: Final = 64 * 1024 * 1024


class RowsOrigin(NamedTuple):
    """The execution that made rows, and the file key of its part."""

    pipeline: str
    execution: str
    version: int
    name: str

    @property
    def file(self) -> str:
        return part_key(self.pipeline, self.name)


class PartOfOutput(NamedTuple):
    """A stored file of rows of an output, and the facts about it."""

    origin: RowsOrigin
    facts: "PartFacts"


class PartFacts(msgspec.Struct, frozen=True):
    """The number of a file's rows, its bytes and digest, and the limits of its rows' times."""

    count: int
    size: int
    digest: str
    least: str | None
    most: str | None


class WrittenFile(NamedTuple):
    """The bytes of a file, and its SHA-256."""

    size: int
    digest: str


@dataclass(frozen=True, slots=True)
class PartWriter:
    """Writes parts; their list does not name them yet."""

    engine: RowsEngine
    files: Files
    clock: Clock

    async def write_output(
        self,
        origin: RowsOrigin,
        plan: TransformPlan,
        identity: RowIdentity,
        output: StoredFile,
        payer: WorkPayer,
    ) -> PartOfOutput:
        """Write the rows of an execution's output file as a part that is not numbered yet.

        Raises InputRefused if two rows have the same key.
        """
        with self.engine.scratch_files(".csv", ".parquet") as (source, target):
            await copy_to_disk(self.files, output.key, source, output.size)
            sql = output_selection(read_output_file(source, plan), plan, identity, origin)
            facts = await self.engine.write(partial(_write_rows, sql, target), payer)
            await self._store(origin.file, target)
        return PartOfOutput(origin, facts)

    async def write_selection(
        self, rows: OpenRows, staged: StagedFile, sql: str, given: Sequence[Any], like: RowsPart
    ) -> RowsPart | None:
        """Write selected rows as a withdrawal of them, for who opened them; None if there are none.

        A caller waits for it and pays for it, unlike the write of an execution.
        """
        with self.engine.scratch_files(".parquet") as (target,):
            facts = await rows.run(partial(_write_rows, sql, target, given=given))
            if not facts.count:
                return None
            async with aclosing(read_local(target)) as chunks:
                await staged.put(chunks, PARQUET)
        at = self.clock.timestamp()
        withdrawn = PartKind.WITHDRAWAL
        return RowsPart(
            commit=0,
            kind=withdrawn,
            file=staged.key,
            types=like.types,
            key=like.key,
            at=at,
            **msgspec.structs.asdict(facts),
        )

    async def write_merged(self, key: str, snapshot: Snapshot) -> WrittenFile:
        """Write all versions of a snapshot's rows into one file."""
        with self.engine.scratch_files(".parquet") as (target,):
            order = ", ".join([*order_of_keys(snapshot), COMMIT])
            sql = f"SELECT * FROM {snapshot.all_versions()} ORDER BY {order}"
            written = await self.engine.write(partial(_write_file, sql, target), NOBODY)
            await self._store(key, target)
            return written

    async def _store(self, key: str, local: Path) -> None:
        async with aclosing(read_local(local)) as chunks:
            await self.files.write(key, chunks, content_type=PARQUET)


def unnumbered_part(
    made: PartOfOutput, plan: TransformPlan, identity: RowIdentity, at: str
) -> RowsPart:
    """The part of an output as a commit that has no number yet."""
    origin = made.origin
    return RowsPart(
        commit=0,
        file=origin.file,
        types=output_types(plan),
        key=tuple(plan.steps[place].name for place in identity.key),
        execution=origin.execution,
        version=origin.version,
        timestamps=timestamp_form(plan),
        at=at,
        **msgspec.structs.asdict(made.facts),
    )


def output_types(plan: TransformPlan) -> dict[str, ValueType]:
    """The types of the outputs of a plan by key."""
    return {step.name: ValueType(step.type.value) for step in plan.steps}


def output_selection(
    read: str, plan: TransformPlan, identity: RowIdentity, origin: RowsOrigin, above: int = 0
) -> str:
    """The query of the rows of an output, or of a piece of it with so many rows `above`.

    They are in the order of their keys, so that a page is read from a small part of a file.
    """
    types = output_types(plan)
    outputs = list(types)
    numbers = [name for name, type in types.items() if type in NUMBERS]
    keys = [outputs[place] for place in identity.key]
    columns = ", ".join(map(quote_name, outputs))
    numbered = f"(SELECT {columns}, row_number() OVER () + {above} AS {ROW} FROM {read})"
    order = [name for key in keys for name in sort_columns(key, is_number=key in numbers)]
    # Only what must be sorted is: the wide columns come later, and need no memory then.
    sorted_rows = (
        f"(SELECT {columns}, {ROW} "
        f"FROM {with_numbers(numbered, [key for key in keys if key in numbers])} "
        f"ORDER BY {', '.join(order)})"
    )
    selected = [
        columns,
        *(name for number in numbers for name in number_columns(number).all),
        *_system_selection(outputs, identity, origin),
    ]
    return f"SELECT {', '.join(selected)} FROM {with_numbers(sorted_rows, numbers)}"


def _system_selection(
    outputs: Sequence[str], identity: RowIdentity, origin: RowsOrigin
) -> list[str]:
    """The expressions of the columns of rows that are no outputs, over their outputs."""
    time = "CAST(NULL AS TIMESTAMP)"
    if identity.time is not None:
        milliseconds = f"CAST({quote_name(outputs[identity.time])} AS BIGINT)"
        time = f"make_timestamp({milliseconds} * 1000)"
    group = quote_text(identity.owner)
    if identity.group is not None:
        group = quote_name(outputs[identity.group])
    system = {
        KEY: key_digest(", ".join(quote_name(outputs[place]) for place in identity.key)),
        ROW: ROW,
        TIME: time,
        GROUP: group,
        EXECUTION: quote_text(origin.execution),
        VERSION: str(origin.version),
    }
    return [f"{expression} AS {name}" for name, expression in system.items()]


def timestamp_form(plan: TransformPlan) -> TimestampForm:
    """The form of timestamps in the output of a plan."""
    return TimestampForm.ISO_8601 if plan.iso_timestamps else TimestampForm.EPOCH_MILLISECONDS


def read_output_file(path: Path, plan: TransformPlan, *, has_header: bool = True) -> str:
    """The expression of the output file of a plan, whose columns are texts.

    Timestamps are epoch milliseconds in any case, so that a row has the same key in both forms.
    """
    read = _read_csv_file(path, [step.name for step in plan.steps], has_header=has_header)
    moments = [quote_name(one.name) for one in plan.steps if one.type is FormulaType.TIMESTAMP]
    if not plan.iso_timestamps or not moments:
        return read
    replaced = [
        # A null that is alone in its line is written in quotes.
        f"CAST(epoch_ms(CAST(nullif({name}, '') AS TIMESTAMP)) AS VARCHAR) AS {name}"
        for name in moments
    ]
    return f"(SELECT * REPLACE ({', '.join(replaced)}) FROM {read})"


def _read_csv_file(path: Path, names: Sequence[str], *, has_header: bool) -> str:
    columns = ", ".join(f"{quote_text(name)}: 'VARCHAR'" for name in names)
    return (
        f"read_csv({quote_text(str(path))}, header = {has_header}, auto_detect = false, "
        f"columns = {{{columns}}}, delim = ',', quote = '\"', escape = '\"', "
        f"new_line = '\\r\\n', max_line_size = {LONGEST_LINE})"
    )


def key_digest(values: str) -> str:
    """The expression of the hash of a key, whose values are expressions."""
    return f"substr(sha256(CAST(to_json([{values}]) AS VARCHAR)), 1, 32)"


def copy_rows(sql: str, target: Path, connection: Connection, given: Sequence[Any] = ()) -> None:
    """Write the selected rows to a file."""
    path = quote_text(str(target))
    connection.execute(f"COPY ({sql}) TO {path} (FORMAT parquet, COMPRESSION zstd)", list(given))


def copy_keys(rows: Path, target: Path, connection: Connection) -> None:
    """Write the keys of a file's rows, with their numbers, as a file of its own."""
    read = f"read_parquet({quote_text(str(rows))})"
    copy_rows(f"SELECT {KEY}, {ROW} FROM {read}", target, connection)


def _write_file(sql: str, target: Path, connection: Connection) -> WrittenFile:
    """Write the selected rows to a file."""
    copy_rows(sql, target, connection)
    return measure_file(target)


def _write_rows(
    sql: str, target: Path, connection: Connection, given: Sequence[Any] = ()
) -> PartFacts:
    """Write the selected rows to a file; return the facts of the part about them."""
    copy_rows(sql, target, connection, given)
    require_unique_keys(connection, [target])
    return read_facts(connection, target)


def require_unique_keys(connection: Connection, files: Sequence[Path]) -> None:
    """Raise InputRefused if two rows of these files have the same key."""
    paths = ", ".join(quote_text(str(path)) for path in files)
    twice = connection.execute(
        f"SELECT min({ROW}), max({ROW}) FROM read_parquet([{paths}]) GROUP BY {KEY} "
        "HAVING count(*) > 1 ORDER BY 1 LIMIT 1"
    ).fetchone()
    if twice is not None:
        message = f"rows {twice[0]} and {twice[1]} of the output have the same key"
        raise InputRefused(TransformCode.DUPLICATE_KEY, message)


def read_facts(connection: Connection, written: Path) -> PartFacts:
    """Read the facts of the part that a file is."""
    found = connection.execute(
        f"SELECT count(*), min({TIME}), max({TIME}) FROM read_parquet({quote_text(str(written))})"
    ).fetchone()
    count, least, most = found or (0, None, None)
    times = _stored_time(least), _stored_time(most)
    return PartFacts(count, *measure_file(written), *times)


def measure_file(path: Path) -> WrittenFile:
    """Measure a local file and read its digest."""
    with path.open("rb") as local:
        digest = file_digest(local, sha256).hexdigest()
    return WrittenFile(path.stat().st_size, digest)


def _stored_time(moment: datetime | None) -> str | None:
    return None if moment is None else iso_timestamp(moment.replace(tzinfo=UTC))
