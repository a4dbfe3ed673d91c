"""Requests as clients send them: ids, documents, variables, callers, headers and traces differ.

A seed makes the same requests for every server. `alike` traffic repeats one request to the byte.
"""

from collections.abc import Iterator, Mapping, Sequence
from random import Random
from typing import Any, Final, NamedTuple
from urllib.parse import quote

import orjson

from benchmarks.peers.documents import Document, documents_of
from benchmarks.peers.records import ITEMS

CALLERS: Final = 50
SIZE: Final = 20_000
"""The requests of a stream, after which it begins again."""

_SEED: Final = 22
_FIRST: Final = (80, 100)
_PAGE: Final = (15, 25)
_PARTS: Final = (3, 7)
_ALIKE: Final[Mapping[str, dict[str, Any]]] = {
    "one": {"id": "item-0007"},
    "list": {"first": 100},
    "owners": {"first": 100},
    "page": {"first": 20, "after": "item-0039", "parts": 5},
}

Fields = Mapping[str, str]


class Call(NamedTuple):
    """One request: its document and variables, the number of its caller, and its trace.

    `client` is the number of the program that sends it; None sends the fewest headers.
    """

    document: Document
    variables: dict[str, Any]
    caller: int
    client: int | None
    trace: str


class Destination(NamedTuple):
    """The server that a stream goes to: its port, its paths, and the tokens of all callers."""

    port: int
    by_document: bool
    knows_digests: bool
    tokens: Sequence[str]
    takes_get: bool = True


def draw_calls(shape: str, size: int = SIZE, items: int = ITEMS) -> list[Call]:
    """The requests of one shape for so many items, the same at each call."""
    random = Random(f"{_SEED} {shape}")
    documents = documents_of(shape)
    weights = [document.weight for document in documents]
    return [
        Call(
            document,
            _draw_variables(random, shape, items),
            random.randrange(CALLERS),
            random.randrange(len(_CLIENTS)),
            f"{random.getrandbits(128):032x}",
        )
        for document in random.choices(documents, weights, k=size)
    ]


def alike_calls(shape: str) -> list[Call]:
    """One request, which the load generator repeats."""
    return [Call(documents_of(shape)[0], _ALIKE[shape], 0, None, "")]


def _draw_variables(random: Random, shape: str, items: int) -> dict[str, Any]:
    if shape == "one":
        return {"id": f"item-{random.randrange(items):04}"}
    if shape != "page":
        return {"first": random.randint(*_FIRST)}
    after = random.randrange(items - _PAGE[1] - 1)
    first, parts = random.randint(*_PAGE), random.randint(*_PARTS)
    return {"first": first, "after": f"item-{after:04}", "parts": parts}


def encode(call: Call, to: Destination) -> bytes:
    """The bytes of a request."""
    document = call.document
    path = f"/{document.name}" if to.by_document else "/graphql"
    is_get = document.is_persisted and call.client is not None and to.takes_get
    if is_get:
        path += "?" + _search(call, knows_digests=to.knows_digests)
        body = b""
    else:
        body = orjson.dumps(
            {
                "operationName": document.operation,
                "query": document.text,
                "variables": call.variables,
            }
        )
    lines = [f"{'GET' if is_get else 'POST'} {path} HTTP/1.1"]
    lines += [f"{name}: {value}" for name, value in _fields(call, to, len(body), is_get=is_get)]
    return "\r\n".join([*lines, "", ""]).encode() + body


def encode_registration(document: Document, to: Destination) -> bytes:
    """The bytes of the request by which a client makes the digest of a document known."""
    extensions = {"persistedQuery": {"version": 1, "sha256Hash": document.digest}}
    variables = _ALIKE[document.shape]
    body = orjson.dumps({"query": document.text, "variables": variables, "extensions": extensions})
    call = Call(document, variables, 0, None, "")
    lines = ["POST /graphql HTTP/1.1"]
    lines += [f"{name}: {value}" for name, value in _fields(call, to, len(body), is_get=False)]
    return "\r\n".join([*lines, "", ""]).encode() + body


def _search(call: Call, *, knows_digests: bool) -> str:
    """The part of a GET behind the `?`, with the digest or, where no server knows it, the text."""
    document = call.document
    variables = quote(orjson.dumps(call.variables).decode())
    search = f"operationName={document.operation}&variables={variables}"
    if not knows_digests:
        return f"{search}&query={quote(document.text)}"
    persisted = {"persistedQuery": {"version": 1, "sha256Hash": document.digest}}
    return f"{search}&extensions={quote(orjson.dumps(persisted).decode())}"


def _fields(call: Call, to: Destination, length: int, *, is_get: bool) -> Iterator[tuple[str, str]]:
    """The header fields in the order of the client, and behind them those of a load balancer."""
    host = f"127.0.0.1:{to.port}"
    values = {
        "Host": host,
        "Authorization": f"Bearer {to.tokens[call.caller]}",
        "Origin": f"http://{host}",
        "Referer": f"http://{host}/orders/{call.trace[:8]}",
        **({} if is_get else {"Content-Type": "application/json", "Content-Length": str(length)}),
        **({"Apollo-Require-Preflight": "true"} if is_get else {}),
    }
    for field in _FEWEST if call.client is None else _CLIENTS[call.client]:
        name, found, value = field.partition("=")
        if found or name in values:
            yield name, value if found else values[name]
    if call.client is not None:
        last = int(call.trace[:2], 16)
        yield "X-Forwarded-For", f"198.51.100.{last}"
        yield "X-Request-Id", call.trace[:16]
        yield "traceparent", f"00-{call.trace}-{call.trace[16:]}-01"


_FEWEST: Final = (
    "Host", "Content-Type", "Accept=application/json", "Authorization", "Content-Length",
)  # fmt: skip
_BROWSER: Final = (
    "Host", "Connection=keep-alive", "Content-Length", 'sec-ch-ua-platform="Linux"',
    "Authorization",
    "User-Agent=Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) "
    "Chrome/156.0.0.0 Safari/537.36",
    "Accept=application/graphql-response+json, application/json",
    'sec-ch-ua="Chromium";v="156", "Not/A)Brand";v="24"', "Content-Type", "sec-ch-ua-mobile=?0",
    "Apollo-Require-Preflight", "Origin", "Sec-Fetch-Site=same-origin", "Sec-Fetch-Mode=cors",
    "Sec-Fetch-Dest=empty", "Referer", "Accept-Encoding=gzip, deflate, br, zstd",
    "Accept-Language=en-GB,en;q=0.9",
)  # fmt: skip
_NODE: Final = (
    "Host", "Connection=keep-alive", "Authorization", "Content-Type", "Apollo-Require-Preflight",
    "Accept=application/json", "Accept-Language=*", "Sec-Fetch-Mode=cors", "User-Agent=node",
    "Accept-Encoding=br, gzip, deflate", "Content-Length",
)  # fmt: skip
_PYTHON: Final = (
    "Host", "Accept=application/json", "Accept-Encoding=gzip, deflate", "Connection=keep-alive",
    "User-Agent=python-httpx/0.28.1", "Apollo-Require-Preflight", "Authorization",
    "Content-Length", "Content-Type",
)  # fmt: skip
_CLIENTS: Final = (_BROWSER, _NODE, _PYTHON)
