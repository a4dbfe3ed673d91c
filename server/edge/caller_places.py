"""Counts the connections that each caller uses: nobody takes the places of all others."""

from collections.abc import Mapping
from typing import Final

from penstock.datastore.errors import RateLimited
from penstock.datastore.roles import Caller
from penstock.server.auth.tokens import Authentication, Authenticator
from penstock.server.connections.request_watcher import current_connection

RETRY_SECONDS: Final = 1


class PlaceTaker:
    """Accepts whom `inner` accepts, for as many connections at once as a caller may use.

    All places of a connection's listener are shared, and a caller may use half of them.
    """

    def __init__(self, inner: Authenticator) -> None:
        self._inner = inner

    async def caller_of(self, headers: Mapping[str, object]) -> Caller:
        """Return the caller; raises RateLimited for one connection too many."""
        caller = await self._inner.caller_of(headers)
        _take_place(caller)
        return caller

    async def authenticate(self, headers: Mapping[str, object]) -> Authentication:
        """Return the caller and the end of the session; raises as `caller_of`."""
        authentication = await self._inner.authenticate(headers)
        _take_place(authentication.caller)
        return authentication


def _take_place(caller: Caller) -> None:
    connection = current_connection.get()
    if connection is not None and not connection.take_place(caller.user_id):
        reason = "You use as many connections at once as one caller may"
        raise RateLimited(RETRY_SECONDS, reason)
