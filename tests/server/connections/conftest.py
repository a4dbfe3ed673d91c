"""Every test ends with its connections lost and its requests over."""

from collections.abc import AsyncIterator

import pytest

from tests.server.connections.wire import GuardedApp


@pytest.fixture(autouse=True)
async def end_connections() -> AsyncIterator[None]:
    yield
    while GuardedApp.opened:
        await GuardedApp.opened.pop().close()
