"""Reading the latest version of resources; what comes back has been admitted to the caller."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from penstock.datastore.clock import is_id
from penstock.datastore.errors import NotFound
from penstock.datastore.layout import NAME, Kind
from penstock.datastore.parts import Asked, both
from penstock.datastore.paths import ROOT, GroupPath, ancestors
from penstock.datastore.records import Resource
from penstock.datastore.resources.found import DECISIVE, Found
from penstock.datastore.resources.groups import key_of_group, unknown
from penstock.datastore.resources.rows import read_rows
from penstock.datastore.resources.scope import Scope, absent
from penstock.datastore.rules import MAX_NAME
from penstock.datastore.table import Attributes
from penstock.datastore.text import comparison_form

R = TypeVar("R", bound=Resource)


@dataclass(frozen=True, slots=True)
class Reading(Generic[R]):
    """The reads of one kind, in the caller's scope."""

    kind: Kind[R]
    scope: Scope

    async def many(
        self, ids: Sequence[str], *, consistent: bool = False, asked: Asked = None
    ) -> list[R | NotFound]:
        """Get latest: `pk = P:<id>, sk = PV:latest`, batched; one answer for each id, aligned.

        The row carries the grants, so the permission is decided on it. A foreign id and an absent
        one give the same NotFound. Of each resource, at least what is asked for is there.
        """
        rows, part = await self._rows(ids, consistent=consistent), both(asked, DECISIVE)
        return [self.admitted(row, part) for row in rows]

    async def found(self, ids: Sequence[str]) -> list[Found[R] | NotFound]:
        """Get latest, for those who may want more and more of each."""
        return [self._found(row, DECISIVE) for row in await self._rows(ids)]

    async def one(self, id: str, *, consistent: bool = False) -> R:
        """Get latest, one id; raises NotFound."""
        (resource,) = await self.many([id], consistent=consistent)
        if isinstance(resource, NotFound):
            raise resource
        return resource

    async def by_name(self, name: str, group: GroupPath | None) -> R:
        """Get by name: BatchGet of `AID:<kind>:<name>, G:<group>` over the chain, nearest first."""
        if len(name) > MAX_NAME:
            raise NotFound(f"No name is longer than {MAX_NAME} characters.", ("name",))
        group = self.scope.seen_group(group)
        chain = [
            NAME.key(kind=self.kind.letter, name=comparison_form(name), group=above)
            for above in reversed(ancestors(group))
        ]
        rows = await read_rows(self.scope.table, [*chain, key_of_group(group)])
        if group != ROOT and key_of_group(group) not in rows:
            raise unknown(group)
        for key in chain:
            if "id" in rows.get(key, {}):
                return await self.one(str(rows[key]["id"]))
        raise NotFound(f"There is no {self.kind.noun} named {name!r}.", ("name",))

    def admitted(self, item: Attributes | None, asked: Asked = None) -> R | NotFound:
        """The resource in a latest row, if there is one and the caller may see it."""
        found = self._found(item, asked)
        return found if isinstance(found, NotFound) else found.record(asked)

    async def _rows(
        self, ids: Sequence[str], *, consistent: bool = False
    ) -> list[Attributes | None]:
        keys = {id: self.kind.latest.key(id=id) for id in ids if is_id(id)}
        found = await read_rows(self.scope.table, list(keys.values()), consistent=consistent)
        return [found.get(keys[id]) if id in keys else None for id in ids]

    def _found(self, row: Attributes | None, asked: Asked) -> Found[R] | NotFound:
        """Decide by what is asked for of the resource, as it is decoded in any case."""
        if row is None or "deletedAt" in row:
            return absent(self.kind.noun)
        found = Found(self.kind, row)
        return found if self.scope.sees(found.record(asked)) else absent(self.kind.noun)
