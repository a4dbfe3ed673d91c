"""Destinations on DynamoDB: tables with keys and nothing more, over one client."""

from contextlib import AsyncExitStack

from datastore.dynamodb.client import AccessKey, Client, connect
from datastore.dynamodb.definition import Definition
from datastore.dynamodb.failures import Refused
from datastore.dynamodb.retry import DEADLINE
from datastore.dynamodb.store import DynamoDBTable


class DynamoDBDestinations:
    """Tables made on demand, billed by request; `deadline` in seconds bounds each call."""

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
    ) -> "DynamoDBDestinations":
        """Connect, with the credentials of AWS's ordinary chain unless a key is given."""
        connections = AsyncExitStack()
        client = await connections.enter_async_context(connect(region, endpoint_url, key))
        return cls(client, connections, deadline)

    async def create(self, name: str) -> None:
        await Definition(self._client, name, self._deadline, indexed=False).create()

    def table(self, name: str) -> DynamoDBTable:
        return DynamoDBTable(name, self._client, self._connections, self._deadline)

    def is_missing(self, error: Exception) -> bool:
        return isinstance(error, Refused) and error.code == "ResourceNotFoundException"

    async def close(self) -> None:
        await self._connections.aclose()
