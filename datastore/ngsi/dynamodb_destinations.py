"""Destinations on DynamoDB: tables with a primary key and no index, over one client."""

from collections import defaultdict
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import AsyncExitStack, contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Final

from penstock.datastore.dynamodb.client import connect
from penstock.datastore.dynamodb.create_table import TableDefinition
from penstock.datastore.dynamodb.failures import STRANGE_ANSWER
from penstock.datastore.dynamodb.protocol import (
    DEFAULT_CLIENT,
    AccessKey,
    ClientKind,
    DynamoDBClient,
)
from penstock.datastore.dynamodb.reads import batch_get
from penstock.datastore.dynamodb.retry import DEADLINE, Attempts
from penstock.datastore.dynamodb.table import DynamoDBTable
from penstock.datastore.dynamodb.transactions import batch_write
from penstock.datastore.dynamodb.wire import Raw
from penstock.datastore.errors import ForeignTable, RequestRefused
from penstock.datastore.ngsi.destinations import FailureKind, TableBatch, TableItem, TableKey
from penstock.datastore.table import limits
from penstock.datastore.table.limits import check_at_most
from penstock.datastore.table.port import Attributes, Delete, Key, Page, Put, Query, Scan

_FAILURE_KINDS: Mapping[str, FailureKind] = {
    "ResourceNotFoundException": FailureKind.MISSING,
    "ValidationException": FailureKind.INVALID,
    "SerializationException": FailureKind.INVALID,
}


SCAN_PAGE: Final = 100


@dataclass(frozen=True, slots=True)
class CheckedSamples:
    """One destination, which tells apart a wrong query and a table of another program."""

    name: str
    samples: DynamoDBTable
    check_readable: Callable[[], Awaitable[None]]

    async def query(self, query: Query) -> Page:
        """Read one page of one series; raises ForeignTable if the table has other keys."""
        try:
            with self._own_items():
                return await self.samples.query(query)
        except RequestRefused as refused:
            if _FAILURE_KINDS.get(refused.code) is FailureKind.INVALID:
                await self.check_readable()
            raise

    async def get(self, keys: Sequence[Key]) -> Mapping[Key, Attributes]:
        """Read up to 100 items by key, consistently; those that there are."""
        with self._own_items():
            return (await self.samples.get(keys, consistent=True)).items

    async def scan(self, scan: Scan) -> Page:
        """Read one page of all series; a table that does not exist is empty."""
        try:
            with self._own_items():
                return await self.samples.scan(scan)
        except RequestRefused as refused:
            if _FAILURE_KINDS.get(refused.code) is FailureKind.MISSING:
                return Page((), None, 0.0)
            raise

    @contextmanager
    def _own_items(self) -> Iterator[None]:
        """Raise ForeignTable at an item whose values are of types that no sample has."""
        try:
            yield
        except STRANGE_ANSWER as error:
            raise ForeignTable(
                f"The table {self.name} has an item that another program wrote."
            ) from error


class DynamoDBDestinations:
    """Tables created on demand, billed by request; `deadline` in seconds bounds each call."""

    has_tables = True

    def __init__(
        self, client: DynamoDBClient, connections: AsyncExitStack, deadline: float
    ) -> None:
        self._client = client
        self._connections = connections
        self._deadline = deadline

    @classmethod
    async def open(
        cls,
        *,
        region: str | None = None,
        endpoint_url: str | None = None,
        key: AccessKey | None = None,
        deadline: float = DEADLINE,
        kind: ClientKind = DEFAULT_CLIENT,
    ) -> "DynamoDBDestinations":
        """Connect; without a key, the credentials come from AWS's default chain."""
        connections = AsyncExitStack()
        opened = connect(region, endpoint_url, key, kind=kind)
        client = await connections.enter_async_context(opened)
        return cls(client, connections, deadline)

    async def create(self, name: str) -> None:
        await self._definition(name).create()

    async def check_readable(self, name: str) -> None:
        """Raise ForeignTable if the table exists and has other keys than ours."""
        await self._definition(name).check_readable()

    async def exists(self, name: str) -> bool:
        """Whether there is a table of this name."""
        return not (await self._definition(name).differences()).table

    async def scan_page(self, name: str, after: Raw | None) -> tuple[list[Raw], Raw | None]:
        """Read a page of any table in the order of the store; the key to go on from, or None."""
        request: Raw = {"TableName": name, "Limit": SCAN_PAGE, "ConsistentRead": True}
        if after is not None:
            request["ExclusiveStartKey"] = after
        call = partial(self._client.call, "Scan", request)
        answer = await Attempts(self._deadline).send(call)
        items: list[Raw] = answer["Items"]
        return items, answer.get("LastEvaluatedKey")

    async def write(self, items: Sequence[TableItem], *, patient: bool = True) -> None:
        check_at_most("operations of a write", limits.WRITE_OPERATIONS, len(items))
        tables: dict[str, list[Put]] = defaultdict(list)
        for table, item in items:
            tables[table].append(Put(item))
        for puts in tables.values():
            limits.guard_write(puts)
        await batch_write(self._client, Attempts(self._deadline, None if patient else 1), tables)

    async def get(self, keys: Sequence[TableKey]) -> TableBatch:
        check_at_most("keys of a read", limits.GET_KEYS, len(keys))
        tables: dict[str, list[Key]] = defaultdict(list)
        for table, key in keys:
            tables[table].append(key)
        for of in tables.values():
            limits.guard_get(of)
        batches = await batch_get(self._client, Attempts(self._deadline), tables, consistent=False)
        items = {
            TableKey(table, key): item
            for table, batch in batches.items()
            for key, item in batch.items.items()
        }
        return TableBatch(items, sum(batch.units for batch in batches.values()))

    async def delete(self, table: str, keys: Sequence[Key]) -> None:
        check_at_most("operations of a write", limits.WRITE_OPERATIONS, len(keys))
        await batch_write(
            self._client, Attempts(self._deadline), {table: [Delete(key) for key in keys]}
        )

    def table(self, name: str) -> "CheckedSamples":
        table = DynamoDBTable(name, self._client, self._connections, self._deadline)
        return CheckedSamples(name, table, partial(self.check_readable, name))

    def _definition(self, name: str) -> TableDefinition:
        return TableDefinition(self._client, name, self._deadline, indexed=False)

    def failure_kind(self, error: Exception) -> FailureKind:
        if isinstance(error, ForeignTable):
            return FailureKind.FOREIGN
        return (
            _FAILURE_KINDS.get(error.code, FailureKind.CONFIGURATION)
            if isinstance(error, RequestRefused)
            else FailureKind.TRANSIENT
        )

    async def close(self) -> None:
        await self._connections.aclose()
