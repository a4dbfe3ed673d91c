"""The conversion of an input to CSV in UTF-8, which is stored beside it and read from then on."""

import asyncio
from dataclasses import dataclass
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Final

from penstock.datastore.access.work import packed_units
from penstock.datastore.access.work_debts import WorkDebts
from penstock.datastore.input_files.conversion_limits import ConversionLimits
from penstock.datastore.input_files.converter import Converter, borrow_converter
from penstock.datastore.input_files.kinds import HEAD_BYTES, InputKind, kind_of, unreadable_file
from penstock.datastore.input_files.write_table import (
    PACKED,
    TABLE,
    ConversionOrder,
    ConvertedInput,
)
from penstock.datastore.kept_rows.part_files import copy_to_disk
from penstock.datastore.objects.local_copies import read_local
from penstock.datastore.objects.port import Files
from penstock.datastore.scratch_folders import scratch_folder
from penstock.datastore.turn_threads import TurnThreads

_THREADS: Final = TurnThreads("inputs", 2, most_of_one=1)

CSV_TYPE: Final = "text/csv; charset=utf-8"
_LIBRARIES: Final = {InputKind.EXCEL: "openpyxl", InputKind.PARQUET: "duckdb"}


async def stored_kind(files: Files, key: str) -> InputKind | None:
    """Tell the kind of a stored file; None for CSV; raises InputRefused as `kind_of`."""
    return kind_of(b"".join([chunk async for chunk in files.read(key, end=HEAD_BYTES)]))


@dataclass(frozen=True, slots=True)
class InputConversion:
    """Converts inputs to CSV of at most so many bytes, by way of the disk of this machine."""

    files: Files
    most_bytes: int
    debts: WorkDebts

    async def convert(
        self, source: str, target: str, user: str, size: int
    ) -> ConvertedInput | None:
        """Convert a stored input of a user to a stored table; None for one that is CSV already.

        The user owes the processor time beyond what the size has paid, also where it fails, and
        owes it as it is taken, also to a process that is killed then. Raises InputRefused for what
        cannot be read, is too large, or takes too long or too much memory, and Unavailable.
        """
        kind = await stored_kind(self.files, source)
        if kind is None:
            return None
        if (library := _LIBRARIES.get(kind)) and find_spec(library) is None:
            raise unreadable_file(f"this server reads {kind} only with the extra `results`")
        # A converter begins while the input is copied, and ends before the folder is removed.
        with scratch_folder("inputs") as folder, borrow_converter() as converter:
            await copy_to_disk(self.files, source, folder / PACKED, size)
            converted = await self._write(converter, kind, folder, user)
            await self.files.write(target, read_local(folder / TABLE), content_type=CSV_TYPE)
        return converted

    async def _write(
        self, converter: Converter, kind: InputKind, folder: Path, user: str
    ) -> ConvertedInput:
        """Write a local file as CSV at the user's turn; the user pays for it."""
        size = (await asyncio.to_thread((folder / PACKED).stat)).st_size
        limits = ConversionLimits.of_size(size, self.most_bytes)
        order = ConversionOrder(kind, str(folder), limits)
        async with self.debts.charge_while(user, lambda: converter.seconds, packed_units(size)):
            return await _THREADS.run(partial(converter.convert, order), user)
