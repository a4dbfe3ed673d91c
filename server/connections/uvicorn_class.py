"""The class of guarded connections, in the form that uvicorn takes."""

import asyncio
from typing import Any

import uvicorn
from uvicorn.server import ServerState

from penstock.server.connections.connection import GuardedConnection
from penstock.server.connections.gate import Gates


def connection_class(gates: Gates) -> type[asyncio.Protocol]:
    """Return the class of connections behind these gates, in the form of uvicorn's `http`."""

    class ConnectionBehindGates(GuardedConnection):
        def __init__(
            self,
            config: uvicorn.Config,
            server_state: ServerState,
            app_state: dict[str, Any],
            _loop: asyncio.AbstractEventLoop | None = None,
        ) -> None:
            super().__init__(gates, config, server_state, app_state)

    return ConnectionBehindGates
