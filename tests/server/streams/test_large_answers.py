"""A large answer is paid by its size, and keeps its caller's turn until the client has taken it."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager

import pytest

from penstock.schema.engine.cost import ANSWER_BYTES, ANSWER_VALUES
from penstock.schema.engine.limits import Limits
from penstock.server.edge.response import LARGE_BYTES
from tests.server.streams.stream_client import (
    AsgiConnection,
    StreamHouse,
    connected_client,
    header_list,
    run_app,
)
from tests.support.patience import until

RUNNING = 2
SHARE = 1_000_000
LARGE = 2 * LARGE_BYTES
UNITS = LARGE // ANSWER_BYTES
FREE = 5
READ = "{ hello }"


@asynccontextmanager
async def post_unread(house: StreamHouse, query: str, accept: str) -> AsyncIterator[AsgiConnection]:
    """Post a query; the client reads nothing of the answer until it is told to."""
    line = AsgiConnection()
    line.free.clear()
    body = json.dumps({"query": query}).encode()
    line.incoming.put_nowait({"type": "http.request", "body": body, "more_body": False})
    headers = {"accept": accept, "content_type": "application/json", "authorization": "Bearer ann"}
    scope = {
        "type": "http",
        "method": "POST",
        "path": "/graphql",
        "query_string": b"",
        "headers": header_list(headers),
    }
    async with run_app(line, house.http, scope):
        yield line


@asynccontextmanager
async def plain(house: StreamHouse, query: str) -> AsyncIterator[AsgiConnection]:
    async with post_unread(house, query, "application/json") as line:
        yield line


@asynccontextmanager
async def events(house: StreamHouse, query: str) -> AsyncIterator[AsgiConnection]:
    async with post_unread(house, query, "text/event-stream") as line:
        line.free.set()
        await line.next_sent()
        await line.next_sent()
        line.free.clear()
        yield line


@asynccontextmanager
async def socket(house: StreamHouse, query: str) -> AsyncIterator[AsgiConnection]:
    async with connected_client(house) as talk:
        talk.free.clear()
        talk.ask("1", query)
        yield talk


Open = Callable[[StreamHouse, str], AbstractAsyncContextManager[AsgiConnection]]
TRANSPORTS = pytest.mark.parametrize("open_line", [plain, events, socket])
QUERY = f"{{ text(length: {LARGE}) }}"
EVENTS = f"subscription {{ texts(length: {LARGE}) }}"


def has_begun(house: StreamHouse, count: int) -> Callable[[], bool]:
    return lambda: len(house.opened) >= count


async def settle() -> None:
    for _ in range(100):
        await asyncio.sleep(0)


@TRANSPORTS
async def test_unread_large_answers_are_bounded_by_the_turns(open_line: Open) -> None:
    house = StreamHouse(running=RUNNING)
    house.learn(QUERY, READ)
    async with AsyncExitStack() as held:
        lines = [await held.enter_async_context(open_line(house, QUERY)) for _ in range(6)]
        await until(has_begun(house, RUNNING))
        await settle()
        assert len(house.opened) == RUNNING
        for line in lines:
            line.free.set()
        await until(has_begun(house, 6))
    await until(lambda: len(house.callers.running) == 0)


@TRANSPORTS
async def test_small_answers_leave_their_turn_unread(open_line: Open) -> None:
    house = StreamHouse(running=RUNNING)
    house.learn(READ)
    async with AsyncExitStack() as held:
        for _ in range(6):
            await held.enter_async_context(open_line(house, READ))
        await until(has_begun(house, 6))
        await until(lambda: len(house.callers.running) == 0)


@TRANSPORTS
async def test_a_client_that_leaves_gives_the_turn_of_its_answer_back(open_line: Open) -> None:
    house = StreamHouse(running=RUNNING)
    house.learn(QUERY)
    async with AsyncExitStack() as held:
        for _ in range(RUNNING):
            await held.enter_async_context(open_line(house, QUERY))
        await until(has_begun(house, RUNNING))
        await settle()
        assert len(house.callers.running) == 1
    await until(lambda: len(house.callers.running) == 0)


@pytest.mark.parametrize("open_line", [events, socket])
async def test_large_events_keep_their_turn_too(open_line: Open) -> None:
    house = StreamHouse(running=RUNNING)
    house.learn(EVENTS)
    async with AsyncExitStack() as held:
        lines = [await held.enter_async_context(open_line(house, EVENTS)) for _ in range(6)]
        await until(lambda: house.world.produced >= 6)
        await settle()
        assert house.world.produced == 6
        for line in lines:
            line.free.set()
        await until(lambda: house.world.produced == 12)
    await until(lambda: len(house.callers.running) == 0)


@TRANSPORTS
async def test_a_large_answer_is_paid_by_its_bytes(open_line: Open) -> None:
    house = StreamHouse(share=SHARE)
    house.learn(QUERY, READ)
    for place, (query, least, most) in enumerate(
        ((READ, 1, 1), (QUERY, UNITS - FREE, UNITS + FREE)), 1
    ):
        before = house.spending_of()
        async with open_line(house, query) as line:
            line.free.set()
            await until(has_begun(house, place))
            await until(lambda: len(house.callers.running) == 0)
        assert least <= house.spending_of() - before <= most


@pytest.mark.parametrize("open_line", [events, socket])
async def test_each_large_event_is_paid(open_line: Open) -> None:
    house = StreamHouse(share=SHARE)
    house.learn(EVENTS)
    async with open_line(house, EVENTS) as line:
        line.free.set()
        await until(lambda: house.world.produced == 2)
        await until(lambda: house.spending_of() >= 2 * (UNITS - FREE))


@TRANSPORTS
async def test_an_answer_that_is_refused_for_its_size_is_paid(open_line: Open) -> None:
    house = StreamHouse(share=SHARE, engine=Limits(answer_values=10_000))
    query = "{ numbers(count: 100000) }"
    house.learn(query)
    async with open_line(house, query) as line:
        line.free.set()
        text = ""
        while "LIMIT_EXCEEDED" not in text:
            sent = await line.next_sent()
            text += sent.get("text", "") + sent.get("body", b"").decode()
    assert 10_000 // ANSWER_VALUES - FREE <= house.spending_of() <= 10_000 // ANSWER_VALUES + FREE
