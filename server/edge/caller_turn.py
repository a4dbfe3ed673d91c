"""The turn of a caller at a request, which a large answer keeps until its client has taken it."""

from types import TracebackType
from typing import Self

from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from penstock.server.edge.rate_limit import FairTurns
from penstock.server.edge.response import LARGE_BYTES, send_until_taken


class CallerTurn:
    """Waits for a turn of a caller on entry, and gives it back on exit unless an answer keeps it.

    So the answers that one caller leaves unread are never more than the turns of a caller.
    """

    __slots__ = ("_caller", "_is_kept", "_turns")

    def __init__(self, turns: FairTurns, caller: str) -> None:
        self._turns = turns
        self._caller = caller
        self._is_kept = False

    async def __aenter__(self) -> Self:
        await self._turns.enter(self._caller)
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if not self._is_kept:
            self.leave()

    def keep_for(self, response: Response) -> Response:
        """Return the response to send: if it is large, it keeps the turn until it is sent."""
        if len(response.body) <= LARGE_BYTES:
            return response
        self._is_kept = True
        return _LargeResponse(response, self)

    def leave(self) -> None:
        self._turns.leave(self._caller)


class _LargeResponse(Response):
    """A response that gives a turn back when the client has taken it from the server, or left."""

    def __init__(self, response: Response, turn: CallerTurn) -> None:
        super().__init__(response.body, response.status_code)
        self.raw_headers = response.raw_headers
        self._turn = turn

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            await send(
                {
                    "type": "http.response.start",
                    "status": self.status_code,
                    "headers": self.raw_headers,
                }
            )
            await send_until_taken(send, self.body)
        finally:
            self._turn.leave()
