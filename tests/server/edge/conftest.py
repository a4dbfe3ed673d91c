"""The edge and a client of it, for the tests of GraphQL over HTTP."""

from collections.abc import AsyncIterator

import pytest

from tests.server.edge.edge_client import Client, Edge, client_of


@pytest.fixture
def edge() -> Edge:
    return Edge()


@pytest.fixture
async def client(edge: Edge) -> AsyncIterator[Client]:
    async with client_of(edge) as client:
        yield client
