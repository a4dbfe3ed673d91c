"""Between the dear requests of one caller, however many come at once, others have their turns."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from itertools import pairwise

import pytest
import strawberry

from penstock.datastore.roles import Caller
from penstock.schema.engine.engine import LONG_DOCUMENT, GraphQLEngine
from penstock.schema.engine.limits import MeasuredOperation
from penstock.schema.engine.operations import OperationRequest
from penstock.server.edge.graphql import OperationReader, RequestSource
from penstock.server.edge.rate_limit import CallerLimits, RateLimiter
from penstock.server.edge.request import request_from_json
from penstock.server.telemetry.operation import OperationRecord

ANN, BOB = Caller("ann", {}), Caller("bob", {})
UNITS_OF_A_TURN = 25
COUNT = 5


@strawberry.type
class Query:
    hello: str = "world"


class ReadingRoom:
    """A reader that notes at which turns of the loop it parsed and prepared each request."""

    def __init__(self) -> None:
        self.turn = 0
        self.parsed: dict[str, list[int]] = {}
        self.prepared: dict[str, list[int]] = {}
        engine = GraphQLEngine(strawberry.Schema(Query))
        self._reader = OperationReader(engine, CallerLimits.of(RateLimiter(0, 1), 8))

    @asynccontextmanager
    async def counting(self) -> AsyncIterator[None]:
        async def count() -> None:
            while True:
                await asyncio.sleep(0)
                self.turn += 1

        counting = asyncio.create_task(count())
        yield
        counting.cancel()
        with suppress(asyncio.CancelledError):
            await counting

    async def read(self, caller: Caller, text: bytes) -> None:
        def parse(text: bytes) -> OperationRequest:
            self.parsed.setdefault(caller.user_id, []).append(self.turn)
            return request_from_json(text)

        def check(_: MeasuredOperation) -> None:
            self.prepared.setdefault(caller.user_id, []).append(self.turn)

        record = OperationRecord.of("id", "http", {})
        await self._reader.read(caller, text, RequestSource(parse, check), record)


def steps(turns: list[int]) -> list[int]:
    return [later - turn for turn, later in pairwise(turns)]


async def read_all(*texts: bytes) -> ReadingRoom:
    """Let one caller send these texts at the same moment, and another one a short text."""
    room = ReadingRoom()
    async with room.counting():
        await asyncio.gather(
            *(room.read(ANN, text) for text in texts), room.read(BOB, b'{"query": "{ hello }"}')
        )
    return room


@pytest.mark.parametrize("lists", [60_000, 300_000])
async def test_large_bodies_that_complete_together_are_parsed_with_turns_between(
    lists: int,
) -> None:
    text = b'{"query": "{ hello }", "variables": {"x": [%b[]]}}' % (b"[]," * lists)
    room = await read_all(*[text] * COUNT)
    assert len(room.parsed["ann"]) == COUNT
    assert min(steps(room.parsed["ann"])) >= len(text) // 1_000 // UNITS_OF_A_TURN
    assert room.parsed["bob"] == [room.parsed["ann"][0]]


async def test_new_documents_that_come_together_are_checked_with_turns_between() -> None:
    texts = [b'{"query": "{ hello } #%b"}' % (b"%d" % n * 900) for n in range(COUNT)]
    assert all(len(text) < LONG_DOCUMENT for text in texts)
    room = await read_all(*texts)
    assert len(room.prepared["ann"]) == COUNT
    assert min(steps(room.prepared["ann"])) >= 900 // 3 // UNITS_OF_A_TURN


async def test_small_requests_that_come_together_wait_for_no_turn() -> None:
    room = await read_all(*[b'{"query": "{ hello }"}'] * COUNT)
    room.parsed.clear()
    async with room.counting():
        await asyncio.gather(*(room.read(ANN, b'{"query": "{ hello }"}') for _ in range(COUNT)))
    assert steps(room.parsed["ann"]) == [0] * (COUNT - 1)
