"""Names of destinations: the rule that names an entity's table, and the registry of names.

The registry stores the owner of each name, so that no two places ever share one.
"""

import re
from base64 import b32encode
from collections.abc import AsyncIterator, Hashable, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Final, NamedTuple

import msgspec

from penstock.datastore.access.work import FREE_WORK, NEW_TABLE_UNITS, WorkAccount
from penstock.datastore.errors import LimitExceeded, Unavailable
from penstock.datastore.ngsi.events import identity_digest
from penstock.datastore.ngsi.name_encoding import CONCATENATOR, Encoding, encode
from penstock.datastore.ngsi.options import DataModel, LongNames, NamingOptions
from penstock.datastore.records import StoredRecord
from penstock.datastore.table.commit import Attempts, StaleRead, Write, commit
from penstock.datastore.table.items import load, read_rows
from penstock.datastore.table.layout import ADOPTION, DESTINATION, DESTINATION_NAME
from penstock.datastore.table.pages import Slice, Window, make_slice, query_items, read_records
from penstock.datastore.table.port import (
    Attributes,
    Item,
    Missing,
    Put,
    Query,
    Range,
    Table,
    key_of,
)

MIN_NAME: Final = 3
MAX_NAME: Final = 255

_KEPT_LETTERS = 200
_HASH_LETTERS = 26
_NAME = re.compile(rf"[A-Za-z0-9_.-]{{{MIN_NAME},{MAX_NAME}}}")


class NamingPlace(NamedTuple):
    """The entity, service path and service that name a destination.

    It is the notified one unless name mappings or grouping rules replace it.
    """

    service: str
    path: str
    entity_id: str
    entity_type: str


def table_name(place: NamingPlace, naming: NamingOptions) -> str:
    """Name the destination of a place: 3 to 255 letters, digits, `_`, `-` and `.`.

    A longer name is cut and ends in a hash of the whole; if the options reject long names, it
    raises LimitExceeded.
    """
    name = full_name(place, naming)
    if len(name) <= MAX_NAME:
        return name
    if naming.long_names is LongNames.REJECT:
        raise LimitExceeded("characters of a table's name", MAX_NAME, len(name))
    return hashed_name(name, name)


def full_name(place: NamingPlace, naming: NamingOptions) -> str:
    """The name of a place's destination, without the limit of its length."""
    encoding = naming.encoding
    parts = [encode(place.service, encoding), encode(place.path, encoding)]
    if naming.data_model is DataModel.BY_ENTITY:
        parts.append(_entity_component(place, encoding))
    name = CONCATENATOR.join(parts)
    return name.lower() if naming.enable_lowercase else name


def unambiguous_name(place: NamingPlace, naming: NamingOptions) -> str:
    """The name of a destination whose ordinary name already belongs to another place."""
    return hashed_name(full_name(place, naming), repr((*place, naming.data_model.value)))


def hashed_name(name: str, whole: str) -> str:
    """The start of a name and a hash of the whole, which makes it unique."""
    digest = b32encode(sha256(whole.encode()).digest()).decode().lower()
    return f"{name[:_KEPT_LETTERS]}-{digest[:_HASH_LETTERS]}"


def adopted_name(table: str) -> str:
    """The name of the table to which another program's table of this name is copied."""
    return hashed_name(table, f"adopted:{table}")


def is_table_name(text: str) -> bool:
    """Whether DynamoDB accepts the text as the name of a table."""
    return _NAME.fullmatch(text) is not None


def _entity_component(place: NamingPlace, encoding: Encoding) -> str:
    """Encode id and type. The documented rule encodes them joined by `=`, with the same result.

    An empty id or type is left out.
    """
    given = [part for part in (place.entity_id, place.entity_type) if part]
    if encoding is Encoding.CYGNUS:
        return encode("=".join(given), encoding)
    return CONCATENATOR.join(encode(part, encoding) for part in given)


MAX_KNOWN: Final = 100_000


class Destination(StoredRecord, frozen=True, kw_only=True):
    """A table of samples of one service, and the place that named it.

    By entity, the place is an entity or the destination of grouping rules; by service path, it
    has neither an entity's id nor a type.
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


class _ClaimedName(NamedTuple):
    """The registered name of a table, and whether this call registered it."""

    table: str
    is_new: bool


class _NameTaken(Exception):
    """The name already belongs to another place."""


@dataclass(slots=True)
class TableNameRegistry:
    """The registered names of tables; names that were read once stay cached."""

    table: Table
    _known: dict[Hashable, str] = field(default_factory=dict)

    async def name_table(
        self,
        service: str,
        place: NamingPlace,
        naming: NamingOptions,
        at: str,
        work: WorkAccount = FREE_WORK,
    ) -> str:
        """The table for updates that `service` notified and that are stored as `place`.

        If the name already belongs to another place, the table gets a name with a hash.
        Who sent the first of them owes the table.
        Raises LimitExceeded for a name that is too long, if the options reject those.
        """
        if naming.data_model is DataModel.BY_SERVICE_PATH:
            place = place._replace(entity_id="", entity_type="")
        known = (service, place, naming)
        found = self._known.get(known)
        if found is None:
            found, is_new = await self._register_free_name(service, place, naming, at)
            if is_new:
                work.owe(NEW_TABLE_UNITS)
            if len(self._known) >= MAX_KNOWN:
                self._known.clear()
            self._known[known] = found
        return found

    async def _register_free_name(
        self, service: str, place: NamingPlace, naming: NamingOptions, at: str
    ) -> _ClaimedName:
        try:
            return await self._claim_name(service, place, naming, table_name(place, naming), at)
        except _NameTaken:
            name = unambiguous_name(place, naming)
            return await self._claim_name(service, place, naming, name, at)

    def forget_table(self, name: str) -> None:
        """Forget the cached uses of a name: the table belongs to another program."""
        self._known = {place: known for place, known in self._known.items() if known != name}

    async def _claim_name(
        self, service: str, place: NamingPlace, naming: NamingOptions, name: str, at: str
    ) -> _ClaimedName:
        """Write the missing rows of the claim and of the list, in one transaction.

        Returns the name, or that of the copy if the table was adopted from another program.
        """
        owner = identity_digest(*place, naming.data_model.value)
        rows = (
            {**DESTINATION_NAME.item(table=name), "owner": owner},
            _destination_item(service, place, naming, name, at),
        )
        async for _ in Attempts():
            adoption = ADOPTION.key(table=name)
            keys = [*(key_of(row) for row in rows), adoption]
            found = (await self.table.get(keys, consistent=True)).items
            if adoption in found:
                copy = str(found[adoption]["movedTo"])
                return await self._claim_name(service, place, naming, copy, at)
            if found.get(key_of(rows[0]), rows[0])["owner"] != owner:
                raise _NameTaken
            missing = [Write(Put(row, Missing())) for row in rows if key_of(row) not in found]
            try:
                if missing:
                    await commit(self.table, missing)
            except StaleRead:
                continue
            return _ClaimedName(name, bool(missing))
        raise Unavailable("The destination is being registered by many at once.")


async def list_all_tables(table: Table, limit: int) -> list[str]:
    """List some tables of all services: `siKey1 = ND`."""
    partition = DESTINATION.index_partition()
    query = Query(partition=partition, index=True, limit=limit)
    found = await read_records(table, query, _read_destination)
    return [destination.table for destination in found.records]


async def list_every_table(table: Table) -> AsyncIterator[str]:
    """List the tables with our keys, each once and in the order of their names.

    A table of another program that was adopted is left out: its samples are in the copy.
    """
    query = Query(partition=DESTINATION.index_partition(), index=True)
    listed = {load(Destination, item).table async for item in query_items(table, query)}
    adopted = await find_adopted(table, sorted(listed))
    for name in sorted((listed - adopted) | {adopted_name(each) for each in adopted}):
        yield name


async def find_adopted(table: Table, names: Sequence[str]) -> set[str]:
    """Find the tables of other programs that were adopted: gets of `NF:<table>`."""
    keys = {ADOPTION.key(table=name): name for name in names}
    found = await read_rows(table, list(keys), consistent=True)
    return {name for key, name in keys.items() if key in found}


async def list_destinations(table: Table, service: str, window: Window) -> Slice[Destination]:
    """List the destinations of a service: `pk = ND:<service>`, in the order of their names."""
    values = {"service": service}
    after = None if window.after is None else DESTINATION.key(**values, table=window.after)
    query = Query(
        partition=DESTINATION.pk.fill(values),
        range=Range(DESTINATION.sk.prefix({})),
        after=after,
        descending=window.backward,
        limit=window.size + 1,
    )
    found = await read_records(table, query, _read_destination)
    return make_slice(found.records, window, lambda each: each.table, more=found.more)


def _read_destination(item: Attributes) -> Destination:
    return load(Destination, item)


def _destination_item(
    service: str, place: NamingPlace, naming: NamingOptions, name: str, at: str
) -> Item:
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
