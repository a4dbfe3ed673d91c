"""One caller's many operations and another caller's few take turns, over every transport."""

import asyncio
import json
from contextlib import AsyncExitStack

import pytest

from penstock.schema.engine.limits import Limits
from tests.server.streams.stream_client import (
    AsgiConnection,
    StreamHouse,
    connected_client,
    header_list,
    run_app,
)

SOCKETS, EACH = 8, 45
RUNNING = 8
FEW = 3 * (RUNNING + SOCKETS)
"""Far fewer than all: one round of those that run and of those that arrive, for each pause."""

READ = "{ hello }"


def request_line(house: StreamHouse, query: str, user: str, accept: str) -> AsgiConnection:
    line = AsgiConnection()
    body = json.dumps({"query": query}).encode()
    line.incoming.put_nowait({"type": "http.request", "body": body, "more_body": False})
    return line


def scope_of(user: str, accept: str) -> dict[str, object]:
    headers = {
        "accept": accept,
        "content_type": "application/json",
        "authorization": f"Bearer {user}",
    }
    return {
        "type": "http",
        "method": "POST",
        "path": "/graphql",
        "query_string": b"",
        "headers": header_list(headers),
    }


@pytest.mark.parametrize("read", [READ, "{ a%d: hello }"], ids=["known", "each its own"])
async def test_eight_sockets_with_45_operations_each_do_not_hold_up_another_caller(
    read: str,
) -> None:
    house = StreamHouse(running=RUNNING)
    house.learn(READ)
    async with AsyncExitStack() as held:
        many = [await held.enter_async_context(connected_client(house)) for _ in range(SOCKETS)]
        bob = await held.enter_async_context(connected_client(house, "bob"))
        for number in range(EACH):
            for place, talk in enumerate(many):
                text = read % (number * SOCKETS + place) if "%" in read else read
                talk.ask(str(number), text)
        bob.ask("1", READ)
        await bob.all_messages("1")
        before = [one.request_id for one in house.opened]
        assert len(before) <= FEW
        for talk in many:
            for _ in range(2 * EACH):
                await talk.next_message()
        assert len(house.opened) == SOCKETS * EACH + 1
    assert len(house.callers.running) == len(house.callers.reading) == 0


@pytest.mark.parametrize("accept", ["application/json", "text/event-stream"])
async def test_360_requests_of_one_caller_do_not_hold_up_another(accept: str) -> None:
    house = StreamHouse(running=RUNNING, per_caller=1_000)
    house.learn(READ)
    async with AsyncExitStack() as held:
        for _ in range(SOCKETS * EACH):
            line = request_line(house, READ, "ann", accept)
            await held.enter_async_context(run_app(line, house.http, scope_of("ann", accept)))
        line = request_line(house, READ, "bob", accept)
        await held.enter_async_context(run_app(line, house.http, scope_of("bob", accept)))
        while b"world" not in (await line.next_sent()).get("body", b""):
            pass
        assert len(house.opened) <= FEW


async def test_operations_that_wait_are_cancelled_by_their_client_and_at_the_end() -> None:
    house = StreamHouse(running=2)
    async with connected_client(house) as talk:
        for id in "abcd":
            talk.ask(id, "{ wait }")
        talk.ask("e", READ)
        for _ in range(20):
            await asyncio.sleep(0)
        assert len(house.opened) == 2
        for id in "abcd":
            talk.say({"type": "complete", "id": id})
        messages = await talk.all_messages("e")
        assert messages[0]["payload"] == {"data": {"hello": "world"}}
        talk.ask("f", "{ wait }")
        talk.ask("g", "{ wait }")
        talk.ask("h", "{ wait }")
        for _ in range(20):
            await asyncio.sleep(0)
        talk.leave()
        await talk.wait_until_returned()
    await asyncio.sleep(0)
    assert len(house.callers.running) == 0


async def test_a_subscription_holds_no_turn_between_its_events() -> None:
    house = StreamHouse(running=1)
    async with connected_client(house) as talk:
        for id in "abc":
            talk.ask(id, "subscription { silence { number } }")
            assert (await talk.next_message())["payload"]["data"] == {"silence": {"number": 0}}
        assert await talk.is_served()


async def test_a_server_that_stops_answers_the_operations_that_wait() -> None:
    house = StreamHouse(running=1)
    async with connected_client(house) as talk:
        for id in "ab":
            talk.ask(id, "{ wait }")
        for _ in range(20):
            await asyncio.sleep(0)
        house.streams.stop()
        house.world.go.set()
        answers = [await talk.next_message() for _ in range(4)]
        assert [one["type"] for one in answers] == ["next", "complete"] * 2
        assert (await talk.wait_for_close())[0] == 1012


async def test_an_operation_whose_turn_does_not_come_in_time_ends_with_timeout() -> None:
    house = StreamHouse(running=1, engine=Limits(deadline_seconds=0.1))
    async with connected_client(house) as talk:
        talk.ask("a", "{ wait }")
        talk.ask("b", 'mutation { write(text: "x") }')
        codes = []
        for _ in range(2):
            message = await talk.next_message()
            codes.append(message["payload"][0]["extensions"]["code"])
        assert codes == ["TIMEOUT"] * 2
        assert house.world.written == []
