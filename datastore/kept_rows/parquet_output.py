"""The output of an execution as a Parquet file, for those who asked for one."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Final

from msgspec.structs import replace

from penstock.datastore.access.work import WorkPayer
from penstock.datastore.kept_rows.database import Connection, quote_name
from penstock.datastore.kept_rows.engine import RowsEngine
from penstock.datastore.kept_rows.part_files import copy_to_disk
from penstock.datastore.kept_rows.write_part import (
    PARQUET,
    copy_rows,
    output_types,
    read_output_file,
)
from penstock.datastore.objects.local_copies import read_local
from penstock.datastore.objects.port import Files, StoredFile
from penstock.datastore.records import ValueType
from penstock.transform.plan import TransformPlan
from penstock.transform.timestamps import FIRST_MOMENT, LAST_MOMENT

MOST_DIGITS: Final = 38
"""Digits of a decimal in Parquet; a column with a number of more has texts."""


@dataclass(frozen=True, slots=True)
class ParquetOutput:
    """Writes outputs as Parquet, by way of the disk of this machine."""

    engine: RowsEngine
    files: Files

    async def write(
        self, plan: TransformPlan, source: StoredFile, target: str, payer: WorkPayer
    ) -> int:
        """Write a stored output as a stored Parquet file, at a turn of the payer; return its bytes.

        Raises Unavailable.
        """
        plan = _name_apart(plan)
        types = output_types(plan)
        with self.engine.scratch_files(".csv", ".parquet") as (text, made):
            await copy_to_disk(self.files, source.key, text, source.size)
            write = partial(_write_file, types, read_output_file(text, plan), made)
            await self.engine.write(write, payer)
            await self.files.write(target, read_local(made), content_type=PARQUET)
            return made.stat().st_size


def _name_apart(plan: TransformPlan) -> TransformPlan:
    """Name columns by their position whose names differ from others in letter case only.

    Readers of Parquet, and the engine, take these for one. Keys differ in more than that.
    """
    taken = {step.name.casefold() for step in plan.steps if step.key is not None}
    steps = []
    for place, step in enumerate(plan.steps):
        name = step.name
        if step.key is None:
            if name.casefold() in taken:
                name = f"output {place}"
            while name.casefold() in taken:
                name += "'"
            taken.add(name.casefold())
        steps.append(replace(step, name=name))
    return replace(plan, steps=tuple(steps))


def _write_file(
    types: Mapping[str, ValueType], source: str, made: Path, connection: Connection
) -> None:
    numbers = [name for name, type in types.items() if type is ValueType.NUMBER]
    scales = _find_scales(connection, source, numbers)
    moments = [name for name, type in types.items() if type is ValueType.TIMESTAMP]
    texts = _find_strange_moments(connection, source, moments)
    columns = [
        quote_name(name) if name in texts else _column(name, type, scales.get(name))
        for name, type in types.items()
    ]
    copy_rows(f"SELECT {', '.join(columns)} FROM {source}", made, connection)


def _find_scales(connection: Connection, source: str, names: list[str]) -> dict[str, int]:
    """Return the decimals of each column whose numbers all fit a decimal of Parquet."""
    if not names:
        return {}
    texts = [f"ltrim({quote_name(name)}, '-')" for name in names]
    lengths = [f"max(length(split_part({text}, '.', {part})))" for text in texts for part in (1, 2)]
    found = connection.execute(f"SELECT {', '.join(lengths)} FROM {source}").fetchone() or ()
    pairs = zip(names, found[::2], found[1::2], strict=True)
    return {
        name: decimals or 0
        for name, whole, decimals in pairs
        if (whole or 0) + (decimals or 0) <= MOST_DIGITS
    }


def _find_strange_moments(connection: Connection, source: str, names: list[str]) -> set[str]:
    """Return the columns with a number that is no moment of the years 1 to 9999."""
    if not names:
        return set()
    limits = f"BETWEEN {FIRST_MOMENT} AND {LAST_MOMENT}"
    checks = [
        f"bool_and(coalesce(TRY_CAST({quote_name(name)} AS BIGINT) {limits}, false)) "
        f"FILTER ({quote_name(name)} IS NOT NULL)"
        for name in names
    ]
    found = connection.execute(f"SELECT {', '.join(checks)} FROM {source}").fetchone() or ()
    return {name for name, is_usual in zip(names, found, strict=True) if is_usual is False}


def _column(name: str, type: ValueType, scale: int | None) -> str:
    column = quote_name(name)
    if type is ValueType.BOOLEAN:
        return f"CAST({column} AS BOOLEAN) AS {column}"
    if type is ValueType.TIMESTAMP:
        moment = f"make_timestamp(CAST({column} AS BIGINT) * 1000)"
        return f"CAST({moment} AS TIMESTAMP WITH TIME ZONE) AS {column}"
    if type is ValueType.NUMBER and scale is not None:
        return f"CAST({column} AS DECIMAL({MOST_DIGITS}, {scale})) AS {column}"
    return column
