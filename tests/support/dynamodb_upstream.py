"""A DynamoDB endpoint behind a proxy of the tests, and the answers that proxies make themselves."""

from collections.abc import Mapping, Sequence
from types import TracebackType
from typing import Any, Final, Self, TypeAlias

import aiohttp
import orjson

from tests.support.loopback_server import Answer

Body: TypeAlias = dict[str, Any]

FORWARDED: Final = ("authorization", "content-type", "x-amz-date", "x-amz-target")
TARGET: Final = "DynamoDB_20120810"


class DynamoDBUpstream:
    """Sends requests to the endpoint behind a proxy, with the headers that they came with."""

    def __init__(self, url: str) -> None:
        self._url = url

    async def __aenter__(self) -> Self:
        self._session = aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0))
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self._session.close()

    async def send(
        self, headers: Mapping[str, str], body: Body, operation: str | None = None
    ) -> Answer:
        """Send the request, or one of another operation in its name."""
        kept = {name: headers[name] for name in FORWARDED if name in headers}
        if operation is not None:
            kept["x-amz-target"] = f"{TARGET}.{operation}"
        async with self._session.post(self._url, data=orjson.dumps(body), headers=kept) as answer:
            return Answer(answer.status, await answer.read())


def operation_of(headers: Mapping[str, str]) -> str:
    """Return the name of the operation that a request asks for."""
    return headers["x-amz-target"].partition(".")[2]


def cancellation(reasons: Sequence[Body]) -> Answer:
    """Return the answer to a transaction cancelled for these reasons."""
    return error_answer("TransactionCanceledException", CancellationReasons=list(reasons))


def error_answer(code: str, *, status: int = 400, **more: object) -> Answer:
    kind = f"com.amazonaws.dynamodb.v20120810#{code}"
    return Answer(status, orjson.dumps({"__type": kind, "message": "planned", **more}))
