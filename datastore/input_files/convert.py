"""The conversion of an input to CSV in UTF-8, which is stored beside it and read from then on."""

import asyncio
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Final, NamedTuple

from penstock.datastore.access.work import packed_units
from penstock.datastore.access.work_debts import WorkDebts
from penstock.datastore.input_files.conversion_work import ConversionWork
from penstock.datastore.input_files.excel import read_sheet
from penstock.datastore.input_files.kinds import HEAD_BYTES, InputKind, kind_of, unreadable_file
from penstock.datastore.input_files.parquet import read_parquet
from penstock.datastore.input_files.parquet_pages import require_bounded
from penstock.datastore.input_files.text import decode_wide, read_chunks, unpack_text
from penstock.datastore.kept_rows.engine import Connection, RowsEngine, TimeLimit
from penstock.datastore.kept_rows.part_files import copy_to_disk
from penstock.datastore.objects.local_copies import read_local
from penstock.datastore.objects.port import Files
from penstock.datastore.turn_threads import TurnThreads
from penstock.transform.encodings import NAMES, UTF8
from penstock.transform.problems import InputRefused, TransformCode

_THREADS: Final = TurnThreads("inputs", 2, most_of_one=1)

CSV_TYPE: Final = "text/csv; charset=utf-8"
_LIBRARIES: Final = {InputKind.EXCEL: "openpyxl", InputKind.PARQUET: "duckdb"}


FREE_SECONDS: Final = 60
MOST_SECONDS: Final = 900
"""Seconds of processor time that the conversion of a small file, and of any, may take."""

BYTES_A_SECOND: Final = 200_000
"""Bytes of a larger file for each second more; Excel has 340,000 on a busy machine."""

MOST_RATIO: Final = 400
"""Bytes of CSV to one byte of a packed file; those that people send have 2 to 100."""

FREE_BYTES: Final = 16 * 1024 * 1024
"""Bytes of CSV that a packed file may have in any case."""


async def stored_kind(files: Files, key: str) -> InputKind | None:
    """Tell the kind of a stored file; None for CSV; raises InputRefused as `kind_of`."""
    return kind_of(b"".join([chunk async for chunk in files.read(key, end=HEAD_BYTES)]))


class ConvertedInput(NamedTuple):
    """An input that was made CSV: its kind, its bytes as CSV, and its sheet or inner encoding."""

    kind: InputKind
    size: int
    inner: str = ""

    def describe(self, form: str | None) -> str:
        """Say for people how the input was read, from the form of its CSV."""
        if self.kind is InputKind.EXCEL:
            return f"Excel, the sheet {self.inner!r}"
        if self.kind is InputKind.PARQUET or form is None:
            return self.kind.value
        text = form.replace(NAMES[UTF8], InputKind.UTF_16) if self.inner else form
        return text if self.kind is InputKind.UTF_16 else f"{self.kind}, {text}"


class _LocalFile(NamedTuple):
    """A copy of an input on this machine."""

    kind: InputKind
    path: Path
    size: int


@dataclass(frozen=True, slots=True)
class InputConversion:
    """Converts inputs to CSV of at most so many bytes, by way of the disk of this machine."""

    files: Files
    engine: RowsEngine
    most_bytes: int
    debts: WorkDebts

    async def convert(
        self, source: str, target: str, user: str, size: int | None = None
    ) -> ConvertedInput | None:
        """Convert a stored input of a user to a stored table; None for one that is CSV already.

        The user owes the processor time beyond what the size has paid, also where it fails, and
        owes it as it is taken, also to a process that is killed then. Raises InputRefused for what
        cannot be read, is too large or takes too long, and Unavailable.
        """
        kind = await stored_kind(self.files, source)
        if kind is None:
            return None
        if (library := _LIBRARIES.get(kind)) and find_spec(library) is None:
            raise unreadable_file(f"this server reads {kind} only with the extra `results`")
        # openpyxl opens no file of another name.
        with self.engine.scratch_files(".xlsx", ".csv") as (packed, table):
            await copy_to_disk(self.files, source, packed, size)
            copied = (await asyncio.to_thread(packed.stat)).st_size
            converted = await self._write(_LocalFile(kind, packed, copied), table, user)
            await self.files.write(target, read_local(table), content_type=CSV_TYPE)
        return converted

    async def _write(self, file: _LocalFile, table: Path, user: str) -> ConvertedInput:
        """Write a local file as CSV in a thread, at the user's turn; the user pays for it."""
        kind, packed, size = file
        most_seconds = min(MOST_SECONDS, FREE_SECONDS + size / BYTES_A_SECOND)
        look, work = ConversionWork(most_seconds), ConversionWork(most_seconds)
        most = min(self.most_bytes, FREE_BYTES + MOST_RATIO * size)
        writing = _TableWriter(kind, packed, table, most, work)
        paid = packed_units(size)
        async with self.debts.charge_while(user, lambda: look.seconds + work.seconds, paid):
            try:
                if kind is InputKind.PARQUET:
                    await _THREADS.run(partial(require_bounded, packed, look), user)
                    # One step of a query may take long, so its clock is looked at from outside.
                    limit = TimeLimit(work.most_seconds, work.too_long_error, work.note_seconds)
                    return await self.engine.write(writing.run, user, limit)
                return await _THREADS.run(writing.run, user)
            finally:
                look.interrupt()
                work.interrupt()


@dataclass(frozen=True, slots=True)
class _TableWriter:
    """Writes a local file as CSV of at most so many bytes, until the work is interrupted."""

    kind: InputKind
    packed: Path
    table: Path
    most_bytes: int
    work: ConversionWork

    def run(self, connection: "Connection | None" = None) -> ConvertedInput:
        """Write the table; raises InputRefused as soon as it is more than it may be."""
        self.work.require_wanted()
        try:
            inner, chunks = self._read(connection)
            return ConvertedInput(self.kind, self._store(chunks), inner)
        finally:
            self.work.note_time()

    def _store(self, chunks: Iterable[bytes]) -> int:
        """Write the pieces of the table; return its size."""
        size = 0
        with self.table.open("wb") as file:
            for chunk in chunks:
                self.work.require_wanted()
                size += len(chunk)
                if size > self.most_bytes:
                    message = f"the file has more than {self.most_bytes} bytes as CSV"
                    raise InputRefused(TransformCode.INPUT_TOO_LARGE, message)
                file.write(chunk)
        return size

    def _read(self, connection: "Connection | None") -> tuple[str, Iterator[bytes]]:
        match self.kind:
            case InputKind.GZIP:
                is_wide, chunks = unpack_text(self.packed)
                return InputKind.UTF_16 if is_wide else "", chunks
            case InputKind.UTF_16:
                return InputKind.UTF_16, decode_wide(read_chunks(self.packed))
            case InputKind.EXCEL:
                return read_sheet(self.packed, self.work)
        if connection is None:
            raise TypeError("a Parquet file is read by a connection")
        return "", read_parquet(connection, self.packed)
