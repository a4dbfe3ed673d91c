"""A connection that parses no head twice says what uvicorn says, whatever it is sent."""

import asyncio
import json
import logging
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from starlette.applications import Starlette
from starlette.types import Receive, Scope, Send
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from server.http import RepeatedHeads
from server.http.heads import MOST_BYTES, MOST_HEADS
from server.response import Response
from server.serving import config_of
from server.settings import Settings
from tests.server.http.speaking import Talk, echo, request

CHUNKED = (
    b"POST /a HTTP/1.1\r\nhost: here\r\ntransfer-encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n"
)
OLD = b"POST /a HTTP/1.0\r\nhost: here\r\ncontent-length: 2\r\n\r\nab"
LAST = request("/a", b"ab", "connection: close")
REQUESTS = (
    request("/a", b"one"),
    request("/a", b"two"),
    request("/a", b"three"),
    request("/a?x=%20", b"one"),
    request("/slow", b"one"),
    request("/parts", b"one"),
    request("/empty", b"one"),
    request("/a", method="GET"),
    request("/a", method="HEAD"),
    request("/a", b"one", "expect: 100-continue"),
    request("/a", b"one", "connection: keep-alive"),
    request("/a", b"\r\n\r\n"),
    b"\r\n\r\n",
    b"\r\n" * 4,
    CHUNKED,
    OLD,
    LAST,
)


class Counting(RepeatedHeads):
    """Counts the heads that are parsed."""

    parsed = 0

    def on_headers_complete(self) -> None:
        self.parsed += 1
        super().on_headers_complete()


async def parsed(talk: Talk, *sent: bytes) -> int:
    """How many heads are parsed while so much is answered."""
    assert isinstance(talk.protocol, Counting)
    before = talk.protocol.parsed
    await talk.say(*sent)
    return talk.protocol.parsed - before


@pytest.fixture(autouse=True)
def _quiet() -> None:
    logging.getLogger("uvicorn.error").setLevel(logging.CRITICAL)


@given(
    st.lists(st.sampled_from(REQUESTS), min_size=1, max_size=8),
    st.lists(st.integers(0, 1500), max_size=6),
    st.booleans(),
)
async def test_it_says_what_uvicorn_says(sent: list[bytes], cuts: list[int], whole: bool) -> None:
    stream = b"".join(sent)
    places = sorted({0, len(stream), *(cut for cut in cuts if cut < len(stream))})
    parts = sent if whole else [stream[a:b] for a, b in pairwise(places)]
    theirs, ours = Talk(HttpToolsProtocol), Talk(RepeatedHeads)
    assert await ours.say(*parts) == await theirs.say(*parts)
    assert ours.wire.closed == theirs.wire.closed
    assert ours.state.total_requests == theirs.state.total_requests


async def test_a_head_is_parsed_once() -> None:
    talk = Talk(Counting)
    assert await parsed(talk, *[request("/a", body) for body in (b"one", b"two", b"six")]) == 1
    assert await parsed(talk, request("/a", b"four")) == 1
    bodies = [json.loads(write.partition(b"\r\n\r\n")[2])[4] for write in talk.wire.writes]
    assert bodies == ["one", "two", "six", "four"]


async def test_a_whole_answer_is_one_write() -> None:
    ours, theirs = Talk(RepeatedHeads), Talk(HttpToolsProtocol)
    for talk in (ours, theirs):
        await talk.say(request("/a", b"one"), request("/a", b"two"))
    assert (len(ours.wire.writes), len(theirs.wire.writes)) == (2, 4)
    assert ours.said == theirs.said


async def test_only_the_latest_heads_are_kept_and_none_that_is_long() -> None:
    talk = Talk(Counting)
    heads = [request(f"/{number}", b"one") for number in range(MOST_HEADS + 1)]
    long = request("/long", b"one", f"x-long: {'x' * MOST_BYTES}")
    assert await parsed(talk, *heads, long, long) == len(heads) + 2
    assert await parsed(talk, *heads[1:]) == 0
    assert await parsed(talk, heads[0]) == 1


@pytest.mark.parametrize("sent", [CHUNKED, request("/a", b"x", "expect: 100-continue")])
async def test_a_head_that_asks_for_more_is_not_kept(sent: bytes) -> None:
    assert await parsed(Talk(Counting), sent, sent) == 2


async def test_requests_on_their_way_are_answered_in_order() -> None:
    talk = Talk(RepeatedHeads)
    await talk.say(request("/slow", b"one"), request("/a", b"two"))
    for sent in (request("/slow", b"1st"), request("/a", b"2nd"), request("/slow", b"3rd")):
        talk.protocol.data_received(sent)
    await talk.settled()
    bodies = [json.loads(write.partition(b"\r\n\r\n")[2])[4] for write in talk.wire.writes]
    assert bodies == ["one", "two", "1st", "2nd", "3rd"]


async def test_what_one_request_keeps_in_its_scope_is_not_seen_by_the_next() -> None:
    seen: list[tuple[bool, bool]] = []

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        seen.append(("mine" in scope, "mine" in scope["state"]))
        scope["mine"] = scope["state"]["mine"] = True
        await echo(scope, receive, send)

    talk = Talk(RepeatedHeads, app)
    await talk.say(*[request("/a", b"one")] * 3)
    assert seen == [(False, False)] * 3


async def test_an_idle_connection_is_closed_and_a_busy_one_is_not() -> None:
    talk = Talk(RepeatedHeads)
    talk.protocol.timeout_keep_alive = 0.2  # type: ignore[assignment]
    for _ in range(6):
        await talk.say(request("/a", b"one"))
        await asyncio.sleep(0.06)
    assert not talk.wire.closed
    await asyncio.sleep(0.5)
    assert talk.wire.closed


async def test_empty_lines_ask_for_nothing() -> None:
    talk = Talk(RepeatedHeads)
    asked = request("/a", b"four")
    await talk.say(asked[:20], asked[20:])
    before = talk.said
    await talk.say(*[b"\r\n" * 4] * 3)
    assert talk.said == before
    await talk.say(b"\r\n\r\nGET ", b"/b HTTP/1.1\r\nhost: here\r\n\r\n")
    assert talk.said.count(b"HTTP/1.1 200 OK") == 2


async def test_a_client_that_was_answered_early_and_sends_no_more_is_left() -> None:
    async def early(scope: Scope, receive: Receive, send: Send) -> None:
        await Response(401, b"no").send(send, "id-1")

    talk = Talk(RepeatedHeads, early)
    talk.protocol.timeout_keep_alive = 0.1  # type: ignore[assignment]
    asked = request("/a", b"a body that never ends")
    await talk.say(asked[:-10], asked[-10:-5])
    assert talk.said.startswith(b"HTTP/1.1 401 ")
    await asyncio.sleep(0.4)
    assert talk.wire.closed


async def test_a_server_that_stops_answers_what_it_was_asked_and_closes() -> None:
    talk = Talk(RepeatedHeads)
    await talk.say(request("/slow", b"one"))
    talk.protocol.data_received(request("/slow", b"two"))
    await asyncio.sleep(0)
    talk.protocol.shutdown()
    await talk.settled()
    assert talk.said.count(b"HTTP/1.1 200 OK") == 2
    assert b"connection: close\r\n" in talk.wire.writes[1]
    assert talk.wire.closed


async def test_a_crash_is_a_500_on_a_repeated_head_too() -> None:
    ours, theirs = Talk(RepeatedHeads), Talk(HttpToolsProtocol)
    for talk in (ours, theirs):
        await talk.say(request("/crash", b"one"), request("/crash", b"two"))
    assert ours.said == theirs.said
    assert b"secret" not in ours.said


@pytest.mark.parametrize(
    ("setting", "protocol"), [("repeated", RepeatedHeads), ("uvicorn", HttpToolsProtocol)]
)
def test_a_setting_goes_back_to_uvicorn(setting: str, protocol: type, tmp_path: Path) -> None:
    config = config_of(Starlette(), Settings.load(data_dir=tmp_path, http_protocol=setting))
    config.load()
    assert config.http_protocol_class is protocol
