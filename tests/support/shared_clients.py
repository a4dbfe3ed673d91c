"""Clients of table servers, made once in a run: making one takes as long as a small test."""

from asyncio import AbstractEventLoop, get_running_loop
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager

from penstock.datastore.dynamodb.client import connect
from penstock.datastore.dynamodb.protocol import ClientKind, DynamoDBClient

_OPEN: dict[AbstractEventLoop, "Clients"] = {}


class Clients:
    """A client of each kind for each server, made at its first use."""

    def __init__(self, held: AsyncExitStack) -> None:
        self._held = held
        self._made: dict[tuple[str, ClientKind], DynamoDBClient] = {}

    async def of(self, region: str, endpoint_url: str, kind: ClientKind) -> DynamoDBClient:
        if (endpoint_url, kind) not in self._made:
            opened = connect(region, endpoint_url, kind=kind)
            self._made[endpoint_url, kind] = await self._held.enter_async_context(opened)
        return self._made[endpoint_url, kind]


@asynccontextmanager
async def sharing_clients() -> AsyncIterator[None]:
    """Share the clients between all tables that open on this event loop meanwhile."""
    loop = get_running_loop()
    async with AsyncExitStack() as held:
        _OPEN[loop] = Clients(held)
        yield
        del _OPEN[loop]


async def shared_client(region: str, endpoint_url: str, kind: ClientKind) -> DynamoDBClient:
    """Return the shared client, which its users must not close."""
    return await _OPEN[get_running_loop()].of(region, endpoint_url, kind)
