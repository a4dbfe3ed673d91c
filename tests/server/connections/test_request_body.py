"""Bodies end where their heads and chunks say, in any pieces."""

import itertools

import httptools
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.server.connections.connection import LINGER_BYTES
from penstock.server.connections.refusals import RefusedRequest
from penstock.server.connections.request_body import (
    CHUNK_BYTES,
    FREE_CHUNKS,
    MAX_EXTRA_BYTES,
    MAX_LINE,
    ChunkedBody,
    SizedBody,
)
from tests.server.connections.wire import GuardedApp, NotingApp, in_chunks, statuses

HEAD = b"POST /a HTTP/1.1\r\ntransfer-encoding: chunked\r\n\r\n"
NEXT = b"GET /next HTTP/1.1\r\n\r\n"


def cut(raw: bytes, places: list[int]) -> list[bytes]:
    ends = sorted({place % (len(raw) + 1) for place in places} | {0, len(raw)})
    return [raw[start:end] for start, end in itertools.pairwise(ends)]


class ParserCallbacks:
    """The body that httptools finds, without further fields."""

    def __init__(self) -> None:
        self.body = b""
        self.fields = 0
        self.complete = 0

    def on_header(self, _name: bytes, _value: bytes) -> None:
        self.fields += 1

    def on_body(self, body: bytes) -> None:
        self.body += body

    def on_message_complete(self) -> None:
        self.complete += 1


@given(
    st.binary(max_size=60),
    st.lists(st.integers(1, 20), max_size=5),
    st.sampled_from([b"", b";a", b" ;a=b", b';a="b c";d', b'\t;a = "\\";"']),
    st.sampled_from([b"", b"a: b\r\n", b"authorization: Bearer a\r\nx:\r\n"]),
    st.lists(st.integers(0, 500), max_size=8),
)
def test_a_chunked_body_is_handed_on_in_plain_chunks(
    body: bytes, sizes: list[int], extension: bytes, trailers: bytes, places: list[int]
) -> None:
    raw = in_chunks(body, sizes, extension) + b"0" + extension + b"\r\n" + trailers + b"\r\n"
    found, heard = ChunkedBody(), ParserCallbacks()
    parser = httptools.HttpRequestParser(heard)
    parser.feed_data(HEAD)
    pieces = iter(cut(raw + NEXT, places))
    for piece in pieces:
        parser.feed_data(found.take(piece))
        if found.is_complete:
            break
    assert (heard.body, heard.fields, heard.complete) == (body, 1, 1)
    assert found.rest + b"".join(pieces) == NEXT


@given(st.binary(max_size=40), st.lists(st.integers(0, 500), max_size=8))
def test_a_sized_body_ends_after_its_bytes(body: bytes, places: list[int]) -> None:
    found = SizedBody(len(body))
    content, rest = b"", b""
    for piece in cut(body + NEXT, places):
        content += found.take(piece)
        rest += found.rest
    assert (content, rest) == (body, NEXT)
    assert found.is_complete


def take_all(body: ChunkedBody, pieces: list[bytes]) -> None:
    for piece in pieces:
        body.take(piece)


@pytest.mark.parametrize(
    "raw",
    [
        b"-5\r\n",
        b"+5\r\n",
        b"0x5\r\n",
        b"5 \r\n",
        b" 5\r\n",
        b"\r\n",
        b"5\n",
        b"5\nabc",
        b"5;a\nb\r\n",
        b"5;a\rb\r\n",
        b"5;\0\r\n",
        b"5;\r\n",
        b"5;=a\r\n",
        b"5;a=\r\n",
        b'5;a="b\r\n',
        b'5;a="b\\"\r\n',
        b'5;a="b"c\r\n',
        b"5;a b\r\n",
        b"5;a \r\n",
        b"f" * 16 + b"\r\n",
        b"2\r\nabcd\r\n",
        b"2\r\nab5\r\n",
        b"2\r\nab\n0\r\n\r\n",
        b"2\r\nab\r0\r\n\r\n",
        b"0\r\na b: c\r\n\r\n",
        b"0\r\n b\r\n\r\n",
        b"0\r\na: b\n\r\n",
        b"0\r\n\n",
        b"5;" + b"a" * MAX_LINE,
        b"0\r\na: " + b"b" * MAX_LINE,
    ],
    ids=repr,
)
@pytest.mark.parametrize("width", [1, 7, 10_000])
def test_bad_chunks_are_refused(raw: bytes, width: int) -> None:
    found = ChunkedBody()
    pieces = [raw[at : at + width] for at in range(0, len(raw), width)]
    with pytest.raises(RefusedRequest):
        take_all(found, pieces)
    assert not found.is_complete


@pytest.mark.parametrize(
    ("start", "one"),
    [(b"", b"1;" + b"a" * 500 + b"\r\n \r\n"), (b"0\r\n", b"a: " + b"b" * 500 + b"\r\n")],
)
def test_what_is_beside_the_content_is_bounded(start: bytes, one: bytes) -> None:
    few, many = MAX_EXTRA_BYTES // len(one) - 1, MAX_EXTRA_BYTES // len(one) + 2
    take_all(ChunkedBody(), [start, *[one] * few])
    with pytest.raises(RefusedRequest):
        take_all(ChunkedBody(), [start, *[one] * many])


@pytest.mark.parametrize("size", [1, 2, CHUNK_BYTES - 1])
@pytest.mark.parametrize("width", [1_000, 2**18])
def test_small_chunks_are_refused_after_the_free_ones(size: int, width: int) -> None:
    one = b"%x\r\n" % size + b"a" * size + b"\r\n"
    most = FREE_CHUNKS * CHUNK_BYTES // (CHUNK_BYTES - size) + 1
    found, raw = ChunkedBody(), one * (most + 100)
    pieces = [raw[at : at + width] for at in range(0, len(raw), width)]
    with pytest.raises(RefusedRequest):
        take_all(found, pieces)
    take_all(ChunkedBody(), [one * FREE_CHUNKS, b"0\r\n\r\n"])


@pytest.mark.parametrize("size", [CHUNK_BYTES, 1_000])
def test_chunks_with_enough_content_have_no_bound(size: int) -> None:
    found = ChunkedBody()
    one = b"%x\r\n" % size + b"a" * size + b"\r\n"
    take_all(found, [one] * (FREE_CHUNKS * 5))
    found.take(b"0\r\n\r\n")
    assert found.is_complete


async def test_after_a_piece_of_chunks_the_others_have_their_turns() -> None:
    served = GuardedApp(NotingApp())
    connection, wire = served.connect()
    head = b"POST /a HTTP/1.1\r\nhost: a\r\ntransfer-encoding: chunked\r\n\r\n"
    reads: list[bool] = []
    for piece in (head, b"", b"", b""):
        connection.data_received(piece + in_chunks(bytes(64_000), [64] * 1_000))
        reads.append(wire.is_reading_now)
        await served.settle()
        reads.append(wire.is_reading_now)
    assert reads == [False, True] * 4
    connection.data_received(b"0\r\n\r\n")
    await served.settle()
    assert [len(body) for _, _, body in served.app.requests] == [4 * 64_000]
    await served.close()


async def test_chunks_that_nobody_wants_any_more_end_the_connection() -> None:
    served = GuardedApp(NotingApp(ignores_bodies=True))
    connection, wire = served.connect()
    head = b"POST /a HTTP/1.1\r\nhost: a\r\ntransfer-encoding: chunked\r\n\r\n"
    connection.data_received(head + in_chunks(b"x"))
    await served.settle()
    assert statuses(wire) == [200]
    for _ in range(LINGER_BYTES // 64_000 + 1):
        assert wire.is_open
        connection.data_received(in_chunks(bytes(64_000)))
        await served.settle()
    assert wire.was_aborted
    await served.close()
