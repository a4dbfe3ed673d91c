"""The client of the commands waits as long as the rate limit says, and sends the same again."""

from collections.abc import Sequence
from typing import Any

import httpx
import pytest

from penstock.server.commands.client import graphql_client
from penstock.server.commands.client.graphql_client import (
    LONGEST_WAIT,
    MOST_WAITS,
    AnsweredError,
    GraphQLClient,
)

DOCUMENT = "mutation($path: GroupPath!) { createGroup(input: {path: $path}) { __typename } }"
MADE = {"data": {"createGroup": {"__typename": "CreateGroupPayload"}}}


def refusal(code: str, **more: Any) -> dict[str, Any]:
    return {"errors": [{"message": "Not now.", "extensions": {"code": code, **more}}]}


def rate_refusal(seconds: int) -> dict[str, Any]:
    return refusal("RATE_LIMITED", retryAfter=seconds)


class AnsweringServer:
    """A server with some answers, the last one for good; it keeps what it was asked."""

    def __init__(self, answers: Sequence[Any], patch: pytest.MonkeyPatch) -> None:
        self.asked: list[bytes] = []
        self.waits: list[float] = []
        self._answers = list(answers)
        patch.setattr(graphql_client, "sleep", self._sleep)

    async def execute(self) -> Any:
        client = GraphQLClient("http://server", "token")
        async with client:
            transport = httpx.MockTransport(self._answer)
            client._graphql_client = httpx.AsyncClient(transport=transport)
            return await client.execute(DOCUMENT, path="/usa")

    async def _answer(self, request: httpx.Request) -> httpx.Response:
        self.asked.append(request.content)
        answer = self._answers.pop(0) if len(self._answers) > 1 else self._answers[0]
        return httpx.Response(429 if "errors" in answer else 200, json=answer)

    async def _sleep(self, seconds: float) -> None:
        self.waits.append(seconds)


async def test_a_command_waits_for_the_rate_limit_and_asks_the_same_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    server = AnsweringServer([rate_refusal(7), rate_refusal(60), MADE], monkeypatch)
    assert await server.execute() == {"__typename": "CreateGroupPayload"}
    assert server.waits == [7, 60]
    assert len(server.asked) == 3
    assert len({*server.asked}) == 1


@pytest.mark.parametrize(
    ("answer", "waits"),
    [
        (rate_refusal(LONGEST_WAIT + 1), []),
        (rate_refusal(1), [1] * MOST_WAITS),
        (refusal("TIMEOUT"), []),
        (refusal("SERVICE_UNAVAILABLE", retryAfter=1), []),
    ],
    ids=["a long wait", "again and again", "another error", "another error with a time"],
)
async def test_other_refusals_end_the_command(
    monkeypatch: pytest.MonkeyPatch, answer: Any, waits: list[int]
) -> None:
    server = AnsweringServer([answer], monkeypatch)
    with pytest.raises(AnsweredError) as refused:
        await server.execute()
    assert refused.value.error_code == answer["errors"][0]["extensions"]["code"]
    assert server.waits == waits
    assert len(server.asked) == 1 + len(waits)
