"""The registry of destinations: whose each name is, so that no two places ever share one."""

from collections.abc import Hashable
from dataclasses import dataclass, field
from typing import Final

import msgspec

from penstock.datastore.commit import ATTEMPTS, Moved, Write, commit
from penstock.datastore.errors import Unavailable
from penstock.datastore.items import load
from penstock.datastore.layout import DESTINATION, DESTINATION_NAME
from penstock.datastore.ngsi.encoding import Encoding
from penstock.datastore.ngsi.events import identity
from penstock.datastore.ngsi.naming import Place, table_name, told_apart
from penstock.datastore.ngsi.options import DataModel, Naming
from penstock.datastore.records import Struct
from penstock.datastore.slices import Slice, Window, sliced
from penstock.datastore.table import Item, Missing, Put, Query, Range, Table, key_of

MAX_KNOWN: Final = 100_000


class Destination(Struct, frozen=True, kw_only=True):
    """A table of samples, of one service, and what it is named after.

    By entity, that is an entity or what grouping rules make of several; by service path it has
    neither an entity's id nor a type.
    """

    service: str
    table: str
    named_service: str
    named_path: str
    named_entity: str = ""
    named_type: str = ""
    data_model: DataModel
    encoding: Encoding
    created_at: str


class _Taken(Exception):
    """The name belongs to another place."""


@dataclass(slots=True)
class Registry:
    """Names as they were given out; what was seen once is remembered."""

    table: Table
    _known: dict[Hashable, str] = field(default_factory=dict)

    async def name(self, service: str, place: Place, naming: Naming, at: str) -> str:
        """The table for what `service` was notified of and is stored as of `place`.

        A name that belongs to another place already is told apart by a hash. Raises LimitExceeded
        for a name that is too long, where those are refused.
        """
        if naming.data_model is DataModel.BY_SERVICE_PATH:
            place = place._replace(entity_id="", entity_type="")
        known = (service, place, naming)
        found = self._known.get(known)
        if found is None:
            found = await self._registered(service, place, naming, at)
            if len(self._known) >= MAX_KNOWN:
                self._known.clear()
            self._known[known] = found
        return found

    async def _registered(self, service: str, place: Place, naming: Naming, at: str) -> str:
        name = table_name(place, naming)
        try:
            await self._register(service, place, naming, name, at)
        except _Taken:
            name = told_apart(place, naming)
            await self._register(service, place, naming, name, at)
        return name

    async def _register(
        self, service: str, place: Place, naming: Naming, name: str, at: str
    ) -> None:
        """Write the claim and the line of the list where they are missing, in one transaction."""
        owner = identity(*place, naming.data_model.value)
        rows = (
            {**DESTINATION_NAME.item(table=name), "owner": owner},
            _item(service, place, naming, name, at),
        )
        for _ in range(ATTEMPTS):
            found = (await self.table.get([key_of(row) for row in rows], consistent=True)).items
            if found.get(key_of(rows[0]), rows[0])["owner"] != owner:
                raise _Taken
            missing = [Write(Put(row, Missing())) for row in rows if key_of(row) not in found]
            try:
                if missing:
                    await commit(self.table, missing)
            except Moved:
                continue
            return
        raise Unavailable("The destination is being registered by many at once.")


async def registered(table: Table, service: str, window: Window) -> Slice[Destination]:
    """List the destinations of a service: `pk = ND:<service>`, in the order of their names."""
    values = {"service": service}
    after = None if window.after is None else DESTINATION.key(**values, table=window.after)
    page = await table.query(
        Query(
            partition=DESTINATION.pk.fill(values),
            range=Range(DESTINATION.sk.prefix({})),
            after=after,
            descending=window.backward,
            limit=window.size + 1,
        )
    )
    found = [load(Destination, item) for item in page.items]
    return sliced(found, window, lambda each: each.table, more=page.last is not None)


def _item(service: str, place: Place, naming: Naming, name: str, at: str) -> Item:
    destination = Destination(
        service=service,
        table=name,
        named_service=place.service,
        named_path=place.path,
        named_entity=place.entity_id,
        named_type=place.entity_type,
        data_model=naming.data_model,
        encoding=naming.encoding,
        created_at=at,
    )
    return {**DESTINATION.item(service=service, table=name), **msgspec.to_builtins(destination)}
