"""A catalogue that answers without end holds up one event at most, for a bounded time."""

import pytest

from penstock.server.lineage.delivery import Sending
from penstock.server.lineage.senders import open_sender
from tests.server.auth.fake_issuer import open_issuer

AGAIN, SENT = Sending.TRY_AGAIN, Sending.SENT
CHUNKED = b"HTTP/1.1 200 X\r\ntransfer-encoding: chunked\r\n\r\n"


@pytest.mark.parametrize(
    ("first", "again", "result"),
    [
        (b"", b"HTTP/1.1 103 X\r\nlink: " + b"a" * 2_000 + b"\r\n\r\n", AGAIN),
        (b"", b"HTTP/1.1 100 X\r\n\r\n" * 100, AGAIN),
        (b"HTTP/1.1 200 X\r\n", b"x: " + b"a" * 1_000 + b"\r\n", AGAIN),
        (CHUNKED, b"1;" + b"a" * 1_000 + b"\r\n \r\n", AGAIN),
        (CHUNKED, b"1\r\n \r\n" * 200, SENT),
        (CHUNKED + b"0\r\n", b"x: " + b"a" * 1_000 + b"\r\n", AGAIN),
        (b"HTTP/1.1 200 X\r\n\r\n", b"a" * 1_000, SENT),
    ],
)
async def test_an_answer_without_end_is_read_only_so_far_and_the_next_event_is_sent(
    first: bytes, again: bytes, result: Sending
) -> None:
    async with open_issuer() as catalogue, open_sender(f"{catalogue.url}/api", None) as sender:
        catalogue.endless = first, again
        assert await sender.send(b"{}") is result
        catalogue.endless = None
        assert await sender.send(b"{}") is SENT
        assert catalogue.requests == ["/api", "/api"]
