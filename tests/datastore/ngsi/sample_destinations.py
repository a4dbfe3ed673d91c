"""Destinations, events and reads for tests of the sink."""

from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from uuid import uuid4

from penstock.datastore.dynamodb.retry import DEADLINE
from penstock.datastore.ngsi.destinations import (
    Destinations,
    EmbeddedDestinations,
    FailureKind,
    SampleTable,
    TableBatch,
    TableItem,
    TableKey,
)
from penstock.datastore.ngsi.dynamodb_destinations import DynamoDBDestinations
from penstock.datastore.ngsi.events import EntityUpdate, NotifiedAttribute
from penstock.datastore.ngsi.options import Persistence
from penstock.datastore.ngsi.repository import SinkAccess
from penstock.datastore.ngsi.rows import Event
from penstock.datastore.sqlite.table import SqliteTable
from penstock.datastore.store import Store
from penstock.datastore.table.port import Attributes, Key, Query
from tests.support.stores import (
    REGION,
    aws_environment,
    client_of,
    dynoxide_endpoint,
    moto_endpoint,
    open_store,
)

AT = 1_429_535_775_005


@asynccontextmanager
async def open_destinations(name: str, tmp_path: Path) -> AsyncIterator[Destinations]:
    """Open the destinations of an implementation, with names that no other test uses."""
    if name == "sqlite":
        shared = SqliteTable.open(tmp_path / f"{uuid4()}.samples.sqlite")
        await shared.create()
        opened: Destinations = EmbeddedDestinations(shared)
    else:
        endpoint = moto_endpoint() if name == "moto" else dynoxide_endpoint()
        over = DynamoDBDestinations(await client_of(endpoint), AsyncExitStack(), DEADLINE)
        opened = PrefixedDestinations(over, f"{uuid4().hex[:8]}.")
    try:
        yield opened
    finally:
        await opened.close()


@asynccontextmanager
async def open_embedded(tmp_path: Path) -> AsyncIterator[Store]:
    """Open the embedded store with its destinations, as a server has it."""
    async with open_store("sqlite", tmp_path) as store:
        yield replace(store, ngsi_access=SinkAccess(EmbeddedDestinations(store.table)))


@dataclass(frozen=True, slots=True)
class PrefixedDestinations:
    """Destinations with a prefix on every name, because tests share their servers."""

    inner: Destinations
    prefix: str

    @property
    def has_tables(self) -> bool:
        return self.inner.has_tables

    async def create(self, name: str) -> None:
        await self.inner.create(self.prefix + name)

    async def write(self, items: Sequence[TableItem], *, patient: bool = True) -> None:
        prefixed = [TableItem(self.prefix + table, item) for table, item in items]
        await self.inner.write(prefixed, patient=patient)

    async def get(self, keys: Sequence[TableKey]) -> TableBatch:
        batch = await self.inner.get([TableKey(self.prefix + table, key) for table, key in keys])
        start = len(self.prefix)
        found = {TableKey(table[start:], key): item for (table, key), item in batch.items.items()}
        return TableBatch(found, batch.units)

    async def delete(self, table: str, keys: Sequence[Key]) -> None:
        await self.inner.delete(self.prefix + table, keys)

    def table(self, name: str) -> SampleTable:
        return self.inner.table(self.prefix + name)

    def failure_kind(self, error: Exception) -> FailureKind:
        return self.inner.failure_kind(error)

    async def close(self) -> None:
        await self.inner.close()


async def open_dynamodb(endpoint_url: str, deadline: float = DEADLINE) -> DynamoDBDestinations:
    with aws_environment():
        return await DynamoDBDestinations.open(
            region=REGION, endpoint_url=endpoint_url, deadline=deadline
        )


def unique_table_name(name: str = "t") -> str:
    """The name of a table that no other test uses."""
    return f"{name}-{uuid4()}"


def event(table: str, entity: str = "car1", **changes: Any) -> Event:
    """An event of one attribute; `value` is the attribute's."""
    attribute = NotifiedAttribute("speed", "float", changes.pop("value", 112))
    fields: dict[str, Any] = {
        "service": "vehicles",
        "path": "/4wheels",
        "at": AT,
        "identity": str(uuid4()),
        "persistence": Persistence.ROW,
        "update": EntityUpdate(entity, "car", (attribute,)),
    }
    return Event(**{**fields, **changes}, table=table)


async def read_series(
    destinations: Destinations, table: str, entity: str = "car1", attribute: str = "speed"
) -> list[Attributes]:
    """Read every sample of a series, oldest first, page by page."""
    found: list[Attributes] = []
    query = Query(partition=f"vehicles:/4wheels:{entity}:car:{attribute}", limit=7)
    while True:
        page = await destinations.table(table).query(query)
        found += page.items
        if page.last is None:
            return found
        query = Query(partition=query.partition, limit=7, after=page.last)
