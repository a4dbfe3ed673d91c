"""Files that are stored before the version that points to them, and never left behind.

Each file that is being stored has a row of its own, listed under `F:staged`. The transaction that
makes the version deletes that row. A row that still exists means that there is no such version,
even if its writer died. The sweep marks a row before it removes the file, so that a late
transaction fails instead of pointing to a missing file.

A folder whose owner is gone has such a row as well, as long as a form may write into it.
"""

from collections.abc import AsyncIterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import partial
from typing import Protocol, TypeVar

from penstock.datastore.access.access import Access
from penstock.datastore.clock import iso_timestamp
from penstock.datastore.errors import PenstockError, Unavailable
from penstock.datastore.objects.own_keys import delete_below
from penstock.datastore.periodic import finish_all
from penstock.datastore.records import Resource
from penstock.datastore.table.commit import Write
from penstock.datastore.table.layout import STAGED
from penstock.datastore.table.pages import query_items
from penstock.datastore.table.port import (
    AllOf,
    Attributes,
    ConditionFailed,
    Delete,
    Exists,
    Item,
    Missing,
    Put,
    Query,
    Update,
    key_of,
)

R = TypeVar("R", bound=Resource)

STAGING_TIME = timedelta(hours=1)
"""The time after which a writer counts as dead; requests end far sooner."""


class Attachment(Protocol[R]):
    """A file, or something like it, that is written together with a resource."""

    async def place(self, resource: R) -> tuple[R, Sequence[Write]]:
        """Store it once; return the resource that points to it, and writes for its transaction.

        The writes make what was stored part of the version.
        """
        ...

    async def settle(self) -> None:
        """Give up what was kept for the write, which has succeeded; it never raises."""
        ...

    async def discard(self) -> None:
        """Remove what was stored and belongs to no version; it never raises."""
        ...


@dataclass(slots=True)
class StagedFile:
    """One file that is being stored: `id` names its row, `key` is its object key.

    It `may_come_late` where nobody knows whether its write has ended.
    """

    access: Access
    id: str
    key: str
    may_come_late: bool = field(default=False, init=False)

    def row(self) -> Item:
        """The row without which nothing removes the file."""
        return {
            **STAGED.item(id=self.id),
            "key": self.key,
            "createdAt": self.access.clock.timestamp(),
        }

    async def put(self, chunks: AsyncIterable[bytes], content_type: str) -> None:
        """Write the row, then the file."""
        await self.access.table.transact([Put(self.row())])
        self.may_come_late = True
        await self.access.files.write(self.key, chunks, content_type=content_type)
        self.may_come_late = False

    def adoption_write(self) -> Write:
        """The write that makes the file part of a version."""
        standing = AllOf((Exists(), Missing("abandoned")))
        return Write(Delete(STAGED.key(id=self.id), standing), _late_write_error)

    async def drop(self) -> None:
        """Remove the file unless a version points to it, then its row.

        The row of a file that may come late stays, so that the sweep removes that as well.
        """
        row = STAGED.key(id=self.id)
        try:
            marked = Update(key=row, set={"abandoned": True}, condition=Exists())
            await self.access.table.transact([marked])
        except ConditionFailed:
            return
        await self.access.files.delete(self.key)
        if not self.may_come_late:
            await self.access.table.transact([Delete(row)])

    async def try_drop(self) -> None:
        """Try to drop the file; a failure is ignored, as a later sweep drops it."""
        with suppress(PenstockError):
            await self.drop()


def abandoned_folder_row(id: str, folder: str, until: datetime) -> Item:
    """The row by which the sweep empties a folder that forms may write until a time."""
    # An earlier release would remove the file under the key, which does not exist.
    named = {"folder": folder, "key": f"{folder}none"}
    return {**STAGED.item(id=id), **named, "createdAt": iso_timestamp(until)}


async def _empty_folder(access: Access, row: Attributes) -> None:
    await delete_below(access.files, str(row["folder"]))
    await access.table.transact([Delete(key_of(row))])


async def sweep_staged_files(access: Access) -> int:
    """Remove the files whose version did not come within an hour; return their number."""
    before = iso_timestamp(access.clock.now() - STAGING_TIME)
    rows = query_items(access.table, Query(partition=STAGED.index_partition(), index=True))
    left = [item async for item in rows if str(item["createdAt"]) < before]

    async def drop(item: Attributes) -> int:
        if "folder" in item:
            await _empty_folder(access, item)
            return 1
        await StagedFile(access, STAGED.pk.parse(str(item["pk"]))["id"], str(item["key"])).drop()
        return 1

    return await finish_all(partial(drop, item) for item in left)


def _late_write_error(_standing: Item | None) -> Exception:
    return Unavailable("The file took too long to be put in place.")
