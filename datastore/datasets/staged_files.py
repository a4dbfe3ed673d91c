"""Files that new versions come with: in place before a version points to them, never left over.

A file that is being put in place has a row of its own, listed under `F:staged`. The transaction
that makes the version takes that row away; a row that is still there says that there is no such
version, whatever became of its writer. Before the file of such a row is removed the row is marked,
so that a transaction which comes late takes nothing over.
"""

from collections.abc import AsyncIterator
from contextlib import suppress
from dataclasses import dataclass
from datetime import timedelta
from typing import Protocol, TypeVar

from penstock.datastore.access.access import Access
from penstock.datastore.clock import canonical
from penstock.datastore.errors import PenstockError, Unavailable
from penstock.datastore.records import Resource
from penstock.datastore.table.layout import STAGED
from penstock.datastore.table.port import (
    AllOf,
    ConditionFailed,
    Delete,
    Exists,
    Item,
    Missing,
    Put,
    Query,
    Update,
)
from penstock.datastore.table.transaction import Write

R = TypeVar("R", bound=Resource)

PATIENCE = timedelta(hours=1)
"""How long a writer may take; requests have far less time."""


class Attachment(Protocol[R]):
    """What one write of a resource comes with besides its rows."""

    async def placed(self, resource: R) -> tuple[R, Write]:
        """Put it in place, once; the resource that points to it, and the write that takes it over.

        The write goes into the transaction that makes the version.
        """
        ...

    async def dropped(self) -> None:
        """Remove what was put in place and not taken over; does not fail."""
        ...


@dataclass(frozen=True, slots=True)
class Staged:
    """One file on its way: `id` names its row, `key` where it goes."""

    access: Access
    id: str
    key: str

    async def put(self, data: bytes, content_type: str) -> None:
        """Write the row, then the file."""
        item: Item = {
            **STAGED.item(id=self.id),
            "key": self.key,
            "createdAt": self.access.clock.timestamp(),
        }
        await self.access.table.transact([Put(item)])
        await self.access.files.write(self.key, _whole(data), content_type=content_type)

    def taken(self) -> Write:
        """The write that makes the file that of a version."""
        standing = AllOf((Exists(), Missing("abandoned")))
        return Write(Delete(STAGED.key(id=self.id), standing), _too_late)

    async def drop(self) -> None:
        """Remove the file unless a version has taken it over, then the row."""
        row = STAGED.key(id=self.id)
        try:
            marked = Update(key=row, set={"abandoned": True}, condition=Exists())
            await self.access.table.transact([marked])
        except ConditionFailed:
            return
        await self.access.files.delete(self.key)
        await self.access.table.transact([Delete(row)])

    async def let_go(self) -> None:
        """The same, but what keeps it from being done now is for a sweep to meet again."""
        with suppress(PenstockError):
            await self.drop()


async def sweep_staged(access: Access) -> int:
    """Remove the files whose writers are gone for an hour; how many, as far as one page goes."""
    page = await access.table.query(Query(partition=STAGED.index_of(), index=True))
    before = canonical(access.clock.now() - PATIENCE)
    left = [item for item in page.items if str(item["createdAt"]) < before]
    for item in left:
        await Staged(access, STAGED.pk.read(str(item["pk"]))["id"], str(item["key"])).drop()
    return len(left)


async def _whole(data: bytes) -> AsyncIterator[bytes]:
    yield data


def _too_late(_standing: Item | None) -> Exception:
    return Unavailable("The file took too long to be put in place.")
