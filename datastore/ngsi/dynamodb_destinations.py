"""Destinations on DynamoDB: tables with a primary key and no index, over one client."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from contextlib import AsyncExitStack

from penstock.datastore.dynamodb.client import connect
from penstock.datastore.dynamodb.create_table import Definition
from penstock.datastore.dynamodb.protocol import DEFAULT, AccessKey, Client, ClientKind
from penstock.datastore.dynamodb.retry import DEADLINE, Attempts
from penstock.datastore.dynamodb.table import DynamoDBTable
from penstock.datastore.dynamodb.writes import write_all
from penstock.datastore.errors import Refused
from penstock.datastore.ngsi.destinations import Placed, Trouble
from penstock.datastore.table import limits
from penstock.datastore.table.limits import at_most
from penstock.datastore.table.port import Put

_TROUBLES: Mapping[str, Trouble] = {
    "ResourceNotFoundException": Trouble.MISSING,
    "ValidationException": Trouble.INVALID,
    "SerializationException": Trouble.INVALID,
}


class DynamoDBDestinations:
    """Tables created on demand, billed by request; `deadline` in seconds bounds each call."""

    def __init__(self, client: Client, connections: AsyncExitStack, deadline: float) -> None:
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
        kind: ClientKind = DEFAULT,
    ) -> "DynamoDBDestinations":
        """Connect; without a key, the credentials come from AWS's default chain."""
        connections = AsyncExitStack()
        opened = connect(region, endpoint_url, key, kind=kind)
        client = await connections.enter_async_context(opened)
        return cls(client, connections, deadline)

    async def create(self, name: str) -> None:
        await Definition(self._client, name, self._deadline, indexed=False).create()

    async def write(self, items: Sequence[Placed]) -> None:
        at_most("operations of a write", limits.WRITE_OPERATIONS, len(items))
        tables: dict[str, list[Put]] = defaultdict(list)
        for table, item in items:
            tables[table].append(Put(item))
        for puts in tables.values():
            limits.guard_write(puts)
        await write_all(self._client, Attempts(self._deadline), tables)

    def table(self, name: str) -> DynamoDBTable:
        return DynamoDBTable(name, self._client, self._connections, self._deadline)

    def trouble(self, error: Exception) -> Trouble:
        return (
            _TROUBLES.get(error.code, Trouble.SET_UP)
            if isinstance(error, Refused)
            else Trouble.PASSING
        )

    async def close(self) -> None:
        await self._connections.aclose()
