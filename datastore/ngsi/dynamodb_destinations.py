"""Destinations on DynamoDB: tables with a primary key and no index, over one client."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from contextlib import AsyncExitStack

from penstock.datastore.dynamodb.client import connect
from penstock.datastore.dynamodb.create_table import TableDefinition
from penstock.datastore.dynamodb.protocol import (
    DEFAULT_CLIENT,
    AccessKey,
    ClientKind,
    DynamoDBClient,
)
from penstock.datastore.dynamodb.retry import DEADLINE, Attempts
from penstock.datastore.dynamodb.table import DynamoDBTable
from penstock.datastore.dynamodb.transactions import batch_write
from penstock.datastore.errors import ForeignTable, RequestRefused
from penstock.datastore.ngsi.destinations import FailureKind, TableItem
from penstock.datastore.table import limits
from penstock.datastore.table.limits import check_at_most
from penstock.datastore.table.port import Put

_FAILURE_KINDS: Mapping[str, FailureKind] = {
    "ResourceNotFoundException": FailureKind.MISSING,
    "ValidationException": FailureKind.INVALID,
    "SerializationException": FailureKind.INVALID,
}


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
        await TableDefinition(self._client, name, self._deadline, indexed=False).create()

    async def write(self, items: Sequence[TableItem], *, patient: bool = True) -> None:
        check_at_most("operations of a write", limits.WRITE_OPERATIONS, len(items))
        tables: dict[str, list[Put]] = defaultdict(list)
        for table, item in items:
            tables[table].append(Put(item))
        for puts in tables.values():
            limits.guard_write(puts)
        await batch_write(self._client, Attempts(self._deadline, patient=patient), tables)

    def table(self, name: str) -> DynamoDBTable:
        return DynamoDBTable(name, self._client, self._connections, self._deadline)

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
