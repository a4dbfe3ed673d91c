"""Files of kept rows that the machines of a cluster write, and the holder of the claim commits.

A machine gets the URL of the output and forms for two files of this claim, and nothing else. What
it uploads is copied to the keys that a commit names, so that what it, or one that was believed
lost, uploads later changes no rows.
"""

from collections.abc import Sequence
from contextlib import aclosing
from dataclasses import dataclass
from functools import partial
from hashlib import sha256
from typing import Final

from distributed import Client

from penstock.datastore.access.work import WorkPayer
from penstock.datastore.errors import NotFound, Unavailable
from penstock.datastore.executions.files import delete_staged_rows, output_key, staged_rows_key
from penstock.datastore.executions.workers.row_engine import WrittenOutput, rows_origin
from penstock.datastore.kept_rows.engine import RowsEngine
from penstock.datastore.kept_rows.output_pieces import OutputPiece
from penstock.datastore.kept_rows.part_files import copy_to_disk
from penstock.datastore.kept_rows.write_part import (
    PARQUET,
    PartFacts,
    PartOfOutput,
    require_unique_keys,
)
from penstock.datastore.objects.chunks import require_size
from penstock.datastore.objects.port import OBJECT_BYTES, Files, UploadForm
from penstock.server.runtime.dask.calls import URL_SECONDS, ClusterCalls, sign_source
from penstock.server.runtime.dask.row_tasks import RowsOrder, write_rows
from penstock.server.runtime.dask.tasks import installed_version
from penstock.server.runtime.dask.transport import SourceUrl

ROWS: Final = "parquet"
KEYS: Final = "keys"
"""The kinds of files of a piece: its rows, and their keys alone."""


@dataclass(frozen=True, slots=True)
class SpreadRows:
    """The rows of an output, written by the machines of a cluster."""

    client: Client
    files: Files
    engine: RowsEngine
    written: WrittenOutput

    async def write(self, pieces: Sequence[OutputPiece]) -> list[PartOfOutput]:
        """Store a file for each piece; raises InputRefused for two rows with the same key."""
        await delete_staged_rows(self.files, self.written.execution)
        try:
            facts = await self._write_pieces(pieces)
            await self._require_unique_keys(len(pieces))
            return [await self._publish(number, one) for number, one in enumerate(facts)]
        except NotFound as missing:
            raise Unavailable("A file of a machine is gone.") from missing
        finally:
            await delete_staged_rows(self.files, self.written.execution)

    async def _write_pieces(self, pieces: Sequence[OutputPiece]) -> list[PartFacts]:
        source = await sign_source(self.files, output_key(self.written.execution))
        calls = [(await self._order(source, n, piece),) for n, piece in enumerate(pieces)]
        results = ClusterCalls(self.client).results_in_order(write_rows, calls)
        async with aclosing(results) as found:
            facts = [one async for one in found]
        for piece, made in zip(pieces, facts, strict=True):
            if piece.rows != made.count:
                raise Unavailable(f"A machine wrote {made.count} of {piece.rows} rows.")
        return facts

    async def _order(self, source: SourceUrl, number: int, piece: OutputPiece) -> RowsOrder:
        written = self.written
        return RowsOrder(
            version=installed_version(),
            plan=written.plan,
            identity=written.identity,
            origin=rows_origin(written.execution, number),
            source=source,
            piece=piece,
            rows=await self._form(number, ROWS),
            keys=await self._form(number, KEYS),
        )

    async def _form(self, number: int, kind: str) -> UploadForm:
        key = staged_rows_key(self.written.execution, number, kind)
        return await self.files.presign_upload(
            key, max_bytes=OBJECT_BYTES, content_type=PARQUET, expires_in=URL_SECONDS
        )

    async def _require_unique_keys(self, count: int) -> None:
        """Look at the keys of all pieces, because each machine knows those of its own only."""
        execution = self.written.execution
        with self.engine.scratch_files(*(f".{n}.parquet" for n in range(count))) as paths:
            for number, path in enumerate(paths):
                key = staged_rows_key(execution, number, KEYS)
                stat = await self.files.stat(key)
                if stat is None:
                    raise NotFound("A file of a machine is gone.")
                await copy_to_disk(self.files, key, path, stat.size)
            check = partial(require_unique_keys, files=paths)
            await self.engine.write(check, WorkPayer(execution.created_by))

    async def _publish(self, number: int, facts: PartFacts) -> PartOfOutput:
        """Copy the file of which a machine told the facts, and refuse one that came in its place.

        A machine that was believed lost may send a piece once more, with other bytes.
        """
        execution = self.written.execution
        origin = rows_origin(execution, number)
        await self.files.copy(staged_rows_key(execution, number, ROWS), origin.file)
        digest = sha256()
        async with aclosing(require_size(self.files.read(origin.file), facts.size)) as content:
            async for chunk in content:
                digest.update(chunk)
        if digest.hexdigest() != facts.digest:
            raise Unavailable("A file of a machine is another one than it said.")
        return PartOfOutput(origin, facts)
