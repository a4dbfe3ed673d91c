"""Bytes that are not HTTP, or HTTP that two servers would parse differently."""

from tests.server.hostile.bodies import GOOD
from tests.server.hostile.hostile_request import Garbage

HEAD = b"POST /graphql HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n"
SMUGGLED = b"GET /metrics HTTP/1.1\r\nhost: localhost\r\n\r\n"

GARBAGE = tuple(
    Garbage(name=f"bytes: {name}", raw=raw)
    for name, raw in {
        "a greeting of TLS": bytes.fromhex("16030100a5010000a10303") + b"a" * 160,
        "a greeting of SSH": b"SSH-2.0-OpenSSH_9.9\r\n\r\n",
        "zeros": bytes(10_000),
        "no method": b" / HTTP/1.1\r\n\r\n",
        "an unknown method": b"GRAPHQL / HTTP/1.1\r\nhost: localhost\r\n\r\n",
        "an unknown version": b"GET / HTTP/9.9\r\nhost: localhost\r\n\r\n",
        "no version": b"GET /\r\n\r\n",
        "the greeting of HTTP/2": b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
        "a header without a colon": b"GET / HTTP/1.1\r\nhost\r\n\r\n",
        "a header with a zero": b"GET / HTTP/1.1\r\nhost: a\0b\r\n\r\n",
        "a name with a space": b"GET / HTTP/1.1\r\nho st: a\r\n\r\n",
        "two lengths": HEAD + b"content-length: 5\r\ncontent-length: 50\r\n\r\n" + GOOD,
        "a negative length": HEAD + b"content-length: -1\r\n\r\n" + GOOD,
        "a length with a sign": HEAD + b"content-length: +5\r\n\r\n" + GOOD,
        "a length in hex": HEAD + b"content-length: 0x10\r\n\r\n" + GOOD,
        "a length and chunks": HEAD
        + b"content-length: 5\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n"
        + SMUGGLED,
        "chunks that are not the last coding": HEAD
        + b"transfer-encoding: chunked, identity\r\n\r\n0\r\n\r\n"
        + SMUGGLED,
        "a chunk of negative size": HEAD + b"transfer-encoding: chunked\r\n\r\n-5\r\n\r\n",
        "a chunk larger than any memory": HEAD
        + b"transfer-encoding: chunked\r\n\r\nffffffffffffffffff\r\n",
        "a chunk that is longer than it says": HEAD
        + b"transfer-encoding: chunked\r\n\r\n2\r\nabcdef\r\n0\r\n\r\n",
    }.items()
)
