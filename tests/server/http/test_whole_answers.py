"""Answers that are written at once are written by the rules of all others."""

import asyncio
import logging
from collections.abc import Sequence
from typing import Any

import pytest
from starlette.types import Receive, Scope, Send
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from server.http import RepeatedHeads
from server.response import Response
from tests.server.http.speaking import Talk, request

START = {"type": "http.response.start", "status": 200}
CONTENT = [(b"content-length", b"2")]
BODY = {"type": "http.response.body", "body": b"ok"}


@pytest.fixture(autouse=True)
def _quiet() -> None:
    logging.getLogger("uvicorn.error").setLevel(logging.CRITICAL)


class Saying:
    """An application that says some messages, and then raises if it is to."""

    def __init__(self, *messages: dict[str, Any], raises: Exception | None = None) -> None:
        self._messages = messages
        self._raises = raises

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        for message in self._messages:
            await send(message)
        if self._raises is not None:
            raise self._raises


async def said(*messages: dict[str, Any], raises: Exception | None = None) -> Talk:
    talk = Talk(RepeatedHeads, Saying(*messages, raises=raises))
    await talk.say(request("/a", b"one"))
    return talk


@pytest.mark.parametrize(
    "field", [(b"x-a", b"1\r\nx-b: 2"), (b"x-a\r\nx-b", b"1"), (b"x-a", b"1\x00")]
)
async def test_a_field_cannot_end_early(field: tuple[bytes, bytes]) -> None:
    talk = await said(START | {"headers": [*CONTENT, field]}, BODY)
    assert talk.said.startswith(b"HTTP/1.1 500 ")
    assert b"x-b" not in talk.said


@pytest.mark.parametrize("length", [b"1", b"3", b"02"])
async def test_a_body_of_another_length_than_announced_is_not_written_at_once(
    length: bytes,
) -> None:
    headers = [(b"content-length", length)]
    talk = await said(START | {"headers": headers}, BODY)
    assert len(talk.wire.writes) == 1 + (length == b"02") or talk.wire.closed


async def test_a_start_without_a_body_becomes_a_500() -> None:
    talk = await said(START | {"headers": CONTENT}, raises=RuntimeError("secret"))
    assert talk.said.startswith(b"HTTP/1.1 500 ")
    assert b"secret" not in talk.said


async def test_an_answer_that_closes_its_connection_does() -> None:
    headers = [*CONTENT, (b"connection", b"close")]
    talk = await said(START | {"headers": headers}, BODY)
    assert talk.said.endswith(b"connection: close\r\n\r\nok")
    assert talk.wire.closed


@pytest.mark.parametrize("kind", [RepeatedHeads, HttpToolsProtocol])
async def test_a_response_that_closes_its_connection_is_the_last_on_it(
    kind: type[HttpToolsProtocol],
) -> None:
    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        await Response(413, b"no", ((b"connection", b"close"),)).send(send, "id-1")

    talk = Talk(kind, app)
    await talk.say(request("/a", b"one") + request("/a", b"two"))
    assert talk.wire.closed
    assert talk.said.count(b"HTTP/1.1 413 ") == 1


async def test_a_body_message_need_not_hold_a_body_nor_fields_be_tuples() -> None:
    headers = [[b"content-length", b"0"]]
    talk = await said(START | {"headers": headers}, {"type": "http.response.body"})
    assert talk.said.startswith(b"HTTP/1.1 200 OK\r\n")
    assert talk.said.endswith(b"content-length: 0\r\n\r\n")


async def test_a_message_after_the_last_is_an_error_as_ever() -> None:
    talk = await said(START | {"headers": CONTENT}, BODY, BODY)
    assert talk.said.count(b"HTTP/1.1") == 1
    assert talk.wire.closed


async def test_a_response_is_the_same_whether_or_not_it_is_written_at_once() -> None:
    wrapped: Sequence[bool] = (False, True)
    found = []
    for is_wrapped in wrapped:

        async def app(scope: Scope, receive: Receive, send: Send, wrap: bool = is_wrapped) -> None:
            async def own(message: Any) -> None:
                await send(message)

            response = Response(200, b"ok", ((b"content-type", b"text/plain"),))
            await response.send(own if wrap else send, "id-1")

        talk = Talk(RepeatedHeads, app)
        await talk.say(request("/a", b"one"))
        assert len(talk.wire.writes) == 1
        found.append(sorted(talk.said.split(b"\r\n")))
    assert found[0] == found[1]


async def test_a_slow_reader_is_waited_for() -> None:
    talk = Talk(
        RepeatedHeads,
        Saying(START | {"headers": CONTENT}, BODY),
    )
    talk.protocol.pause_writing()
    talk.protocol.data_received(request("/a", b"one"))
    await asyncio.sleep(0.01)
    assert talk.said == b""
    talk.protocol.resume_writing()
    await talk.settled()
    assert talk.said.endswith(b"\r\n\r\nok")


async def test_nothing_is_written_to_a_client_that_left() -> None:
    gone = asyncio.Event()

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        await gone.wait()
        await Response(200, b"ok").send(send, "id-1")

    talk = Talk(RepeatedHeads, app)
    talk.protocol.data_received(request("/a", b"one"))
    await asyncio.sleep(0)
    talk.protocol.connection_lost(None)
    gone.set()
    await talk.settled()
    assert talk.said == b""
