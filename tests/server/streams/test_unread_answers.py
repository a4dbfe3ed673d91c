"""The answers that a caller leaves unread over all streams are bounded: the fullest stream ends."""

import asyncio
import json
from dataclasses import replace

from penstock.server.edge.response import LARGE_BYTES
from penstock.server.streams.backpressure import StreamLimits
from penstock.server.streams.sse import EventStreamApp
from penstock.server.streams.unread_answers import UnreadAnswers
from penstock.server.streams.websocket import WebSocketApp
from tests.server.streams.stream_client import (
    AsgiConnection,
    ProtocolClient,
    StreamHouse,
    connected_client,
)
from tests.server.streams.test_large_answers import events
from tests.support.patience import until

LENGTH = 10_000
MOST = 20 * LENGTH
TEXT = f"{{ text(length: {LENGTH}) }}"
LIMITS = StreamLimits(messages_per_second=100_000, operations=100, queue=4)
CLOSE = {
    "type": "websocket.close",
    "code": 1013,
    "reason": "Too many answers wait to be read",
}


def open_house(most: int = MOST) -> tuple[StreamHouse, UnreadAnswers]:
    """Open a house whose callers may leave so many bytes unread."""
    house, unread = StreamHouse(LIMITS), UnreadAnswers(most)
    service = replace(house.service, unread=unread)
    house.websocket = WebSocketApp(service)
    plain = house.http._plain  # type: ignore[attr-defined]
    house.http = EventStreamApp(service, plain)
    return house, unread


def unread_bytes(unread: UnreadAnswers, user: str = "ann") -> list[int]:
    return [outbox.unread_bytes for outbox in unread._outboxes.get(user, [])]


def ask_often(talk: ProtocolClient, count: int) -> None:
    talk.free.clear()
    for number in range(count):
        talk.ask(str(number), TEXT)


async def read_all(talk: ProtocolClient) -> list[object]:
    """Read what was sent, and return the types of the messages."""
    talk.free.set()
    await talk.wait_until_returned()
    found = []
    while not talk.outgoing.empty():
        message = talk.outgoing.get_nowait()
        found.append(message if "code" in message else json.loads(message["text"])["type"])
    return found


async def test_the_socket_with_the_most_unread_is_closed_and_the_others_are_served() -> None:
    house, unread = open_house()
    async with (
        connected_client(house) as slow,
        connected_client(house) as other,
        connected_client(house, "bob") as bob,
    ):
        ask_often(other, 5)
        ask_often(bob, 14)
        await until(lambda: unread_bytes(unread)[1] > 5 * LENGTH)
        ask_often(slow, 14)
        await until(lambda: sum(unread_bytes(unread)) > 19 * LENGTH)
        assert sum(unread_bytes(unread)) <= MOST
        slow.ask("one more", TEXT)
        await until(lambda: sum(unread_bytes(unread)) < 7 * LENGTH)
        assert await read_all(slow) == [CLOSE]

        for talk in (other, bob):
            talk.free.set()
            messages = [await talk.next_message() for _ in range(10)]
            assert "error" not in [message["type"] for message in messages]
    assert len(unread) == 0


async def test_what_is_read_counts_no_more() -> None:
    house, unread = open_house()
    async with connected_client(house) as talk:
        for number in range(60):
            talk.ask(str(number), TEXT)
            assert len(await talk.all_messages(str(number))) == 2
        assert unread_bytes(unread) == [0]
        assert await talk.is_served()


async def test_operations_that_are_given_up_while_they_wait_count_no_more() -> None:
    house, unread = open_house()
    async with connected_client(house) as talk:
        ask_often(talk, 12)
        await until(lambda: unread_bytes(unread)[0] > 12 * LENGTH)
        for number in range(12):
            talk.say({"type": "complete", "id": str(number)})
        await until(lambda: unread_bytes(unread)[0] < 6 * LENGTH)


async def test_an_event_stream_that_is_not_read_ends_too() -> None:
    length = 30_000
    house, unread = open_house(7 * length // 2)
    query = f"subscription {{ texts(length: {length}) }}"
    async with events(house, query) as first, events(house, query) as second:
        await until(lambda: sum(unread_bytes(unread)) > 3 * length)
        for line in (first, second):
            line.free.set()
            await line.wait_until_returned()
        counts = [count_events(line) for line in (first, second)]
        assert sorted(counts) == [(1, False), (2, True)]
    assert len(unread) == 0


def count_events(line: AsgiConnection) -> tuple[int, bool]:
    """Count the events that were sent, and tell whether the stream was complete."""
    sent = b"".join(line.outgoing.get_nowait()["body"] for _ in range(line.outgoing.qsize()))
    return sent.count(b"event: next"), b"event: complete" in sent


async def test_large_answers_do_not_count_as_they_keep_turns() -> None:
    house, unread = open_house(LARGE_BYTES)
    async with connected_client(house) as talk:
        talk.free.clear()
        for number in range(3):
            talk.ask(str(number), f"{{ text(length: {2 * LARGE_BYTES}) }}")
        await until(lambda: len(house.opened) == 3)
        for _ in range(20):
            await asyncio.sleep(0)
        assert unread_bytes(unread)[0] < 1_000
        talk.free.set()
        assert len([await talk.next_message() for _ in range(6)]) == 6
