"""Open subscriptions and refusals that nobody takes keep little of their requests."""

import asyncio
import gc
import tracemalloc
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from penstock.datastore.errors import LimitExceeded
from penstock.schema.engine.engine import GraphQLEngine
from penstock.schema.engine.operations import OperationRequest, PreparedOperation
from penstock.server.streams.backpressure import StreamLimits
from penstock.server.streams.operations import OperationRunner
from penstock.server.streams.standing_requests import StandingRequests
from tests.server.streams.stream_client import (
    SCHEMA,
    ProtocolClient,
    StreamHouse,
    connected_client,
)
from tests.support.patience import until

pytestmark = pytest.mark.usefixtures("only_new_garbage")

SILENCE = "subscription { silence { number } }"
EMPTY_LISTS: list[list[object]] = [[]] * 200_000
QUEUE = 2
BODY_UNITS = 900
MOST_KEPT = 500_000
"""Far less than one of the requests, which have 800 KB, most of them 12 MB once read."""


def prepare(text: str, **variables: object) -> PreparedOperation:
    return GraphQLEngine(SCHEMA).prepare(OperationRequest(query=text, variables=variables))


@contextmanager
def traced_growth() -> Iterator[list[int]]:
    """Yield a list that has the growth of the memory at the end, without garbage."""
    found = list[int]()
    tracemalloc.start()
    try:
        yield found
        gc.collect()
        found.append(tracemalloc.get_traced_memory()[0])
    finally:
        tracemalloc.stop()


async def say_and_hear(talk: ProtocolClient, id: str, query: str, variables: object) -> str:
    talk.ask(id, query, variables=variables)
    return str((await talk.next_message())["type"])


async def test_an_open_subscription_keeps_no_variables_that_it_does_not_declare() -> None:
    async with connected_client(StreamHouse()) as talk:
        assert await say_and_hear(talk, "warm", SILENCE, {}) == "next"
        with traced_growth() as grown:
            for number in range(2):
                kind = await say_and_hear(talk, str(number), SILENCE, {"other": EMPTY_LISTS})
                assert kind == "next"

        assert grown[0] < MOST_KEPT


@pytest.mark.parametrize(
    "payload",
    [
        {"query": "{ nothing }", "variables": {"other": EMPTY_LISTS}},
        {"query": "{ hello }", "operationName": "no", "variables": {"other": EMPTY_LISTS}},
        {"query": "#" * 900_000},
        {"query": "{ hello }", "documentId": "both", "variables": {"other": EMPTY_LISTS}},
        {"documentId": "unknown", "variables": {"other": EMPTY_LISTS}},
    ],
    ids=["no field", "no operation", "no document", "two documents", "unknown document"],
)
async def test_a_refusal_that_its_client_does_not_take_keeps_nothing_of_its_request(
    payload: dict[str, object],
) -> None:
    house = StreamHouse(StreamLimits(messages_per_second=100_000, queue=QUEUE))
    async with connected_client(house) as talk:
        talk.free.clear()
        for number in range(QUEUE + 2):
            talk.ask(f"fills the queue {number}", "{ nothing }")
        await until(talk.incoming.empty)
        with traced_growth() as grown:
            talk.say({"type": "subscribe", "id": "0", "payload": payload})
            await until(talk.incoming.empty)
            for _ in range(2 * BODY_UNITS):
                await asyncio.sleep(0)

        assert grown[0] < MOST_KEPT
        assert len(house.seen) < QUEUE + 3


async def test_a_caller_whose_subscriptions_keep_too_much_begins_no_more_until_one_ends() -> None:
    house = StreamHouse()
    document = prepare(SILENCE).document.memory_bytes
    runner = house.service.runner
    standing = StandingRequests(2 * document + 10_000)
    assert isinstance(runner, OperationRunner)
    object.__setattr__(house.service, "runner", runner._replace(standing=standing))
    texts = [SILENCE, SILENCE.replace("number", "n: number"), SILENCE.replace("{ s", "{ a: s")]
    async with connected_client(house) as talk, connected_client(house, "bob") as bob:
        assert await say_and_hear(talk, "0", texts[0], {}) == "next"
        assert await say_and_hear(talk, "1", texts[1], {}) == "next"
        talk.ask("2", texts[2])
        refused = await talk.next_message()
        assert (refused["id"], refused["type"]) == ("2", "error")
        assert refused["payload"][0]["extensions"]["code"] == "LIMIT_EXCEEDED"
        assert await say_and_hear(talk, "3", texts[0], {}) == "next"
        assert await say_and_hear(bob, "2", texts[2], {}) == "next"
        talk.say({"type": "complete", "id": "1"})
        await until(lambda: house.world.closed_sources == 1)

        assert await say_and_hear(talk, "2", texts[2], {}) == "next"
        assert house.world.closed_sources == 1

    assert len(standing) == 0


def test_a_document_counts_once_and_each_request_for_its_variables() -> None:
    one = prepare("subscription($to: Int!) { ticks(to: $to) { number } }", to=1)
    variables = len(b'{"to":1}') * 24
    standing = StandingRequests(one.document.memory_bytes + 2 * variables)
    with standing.keep("ann", one), standing.keep("ann", one):
        with pytest.raises(LimitExceeded), standing.keep("ann", one):
            raise AssertionError
        with standing.keep("bob", one):
            assert len(standing) == 2
        assert len(standing) == 1

    assert len(standing) == 0


def test_a_request_that_is_too_large_by_itself_leaves_no_trace() -> None:
    standing = StandingRequests(1_000)
    with pytest.raises(LimitExceeded), standing.keep("ann", prepare(SILENCE)):
        raise AssertionError

    assert len(standing) == 0
