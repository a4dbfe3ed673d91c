"""Hostile messages over a WebSocket, or to an event stream."""

import json
import struct
from collections.abc import Mapping

from tests.server.hostile.hostile_request import HostileTalk, Offence, hostile_document

EVENTS = (("accept", "text/event-stream"),)
MASK = b"\x01\x02\x03\x04"


def frame(payload: bytes, opcode: int = 1, *, final: bool = True, reserved: int = 0) -> bytes:
    """Return a masked frame, as a client writes it."""
    first = (0x80 if final else 0) | reserved | opcode
    size = len(payload)
    if size < 126:
        length = struct.pack("!B", 0x80 | size)
    elif size < 2**16:
        length = struct.pack("!BH", 0x80 | 126, size)
    else:
        length = struct.pack("!BQ", 0x80 | 127, size)
    mask = MASK * (size // 4 + 1)
    masked = int.from_bytes(payload, "big") ^ int.from_bytes(mask[:size], "big")
    return bytes([first]) + length + MASK + masked.to_bytes(size, "big")


def says(**message: object) -> str:
    return json.dumps(message)


def subscribes(query: object, id: object = "1", **more: object) -> str:
    return says(type="subscribe", id=id, payload={"query": query, **more})


def talk(name: str, *messages: str | bytes, **how: object) -> HostileTalk:
    return HostileTalk(name=f"socket: {name}", messages=messages, **how)  # type: ignore[arg-type]


def fragments(pieces: bytes) -> bytes:
    """Return a message that begins, and then these pieces."""
    return frame(b" ", final=False) + pieces


def greeting(name: str, status: int, **headers: str) -> Offence:
    sent = {
        "upgrade": "websocket",
        "connection": "Upgrade",
        "sec-websocket-version": "13",
        "sec-websocket-key": "MDEyMzQ1Njc4OWFiY2RlZg==",
        "sec-websocket-protocol": "graphql-transport-ws",
    } | {key.replace("_", "-"): value for key, value in headers.items()}
    return Offence(
        name=f"handshake: {name}",
        method="GET",
        headers=tuple(sent.items()),
        status=status,
        keeps=False,
    )


INIT = says(type="connection_init")
VIEWER = "{ viewer { userId } }"
HANDSHAKES = (
    greeting("another site", 403, origin="https://evil.example.org"),
    greeting("a site called null", 403, origin="null"),
    greeting("a site like ours", 403, origin="http://127.0.0.1.evil.example.org"),
    greeting("another host", 400, host="evil.example.org"),
    greeting("no key", 400, sec_websocket_key=""),
    greeting("a key that is none", 400, sec_websocket_key="a"),
    greeting("an old version", 400, sec_websocket_version="8"),
)
PIECE_AND_PING = frame(b" " * 256, 0, final=False) + frame(b"a", 9)
FLOODS = tuple(
    talk(f"{name}{where}", frames, opened=opened, closes=code)
    for opened, where in ((True, ""), (False, " of a stranger"))
    for name, frames, code in (
        ("600,000 empty pieces", fragments(frame(b"", 0, final=False) * 600_000), 1008),
        ("600,000 pieces of a byte", fragments(frame(b" ", 0, final=False) * 600_000), 1008),
        ("600,000 pings", frame(b"", 9) * 600_000, 1008),
        ("100,000 pings of 125 bytes", frame(b"a" * 125, 9) * 100_000, 1008),
        ("600,000 pongs nobody wanted", frame(b"", 10) * 600_000, 1008),
        ("pings between pieces", fragments(PIECE_AND_PING * 2_000), 1008),
        ("600,000 empty messages", frame(b"") * 600_000, 4400),
        ("600,000 messages of one letter", frame(b"1") * 600_000, 4400),
        ("a length of 5 in 8 bytes", b"\x81\xff" + struct.pack("!Q", 5) + MASK + b"12345", 1002),
        ("a length of 5 in 2 bytes", b"\x81\xfe" + struct.pack("!H", 5) + MASK + b"12345", 1002),
        ("600,000 frames without a mask", b"\x81\x00" * 600_000, 1002),
        ("600,000 pieces of nothing", frame(b"a", 0) * 600_000, 1002),
        ("600,000 frames with reserved bits", frame(b"", reserved=0x70) * 600_000, 1002),
        ("4 MB in one message", frame(b" " * 4_000_000), 1009),
        ("4 MB in pieces", fragments(frame(b" " * 4_000, 0, final=False) * 1_000), 1009),
    )
)
SOCKETS = (
    talk("nothing at all", opened=False, closes=4408),
    talk("a question before the greeting", subscribes(VIEWER), opened=False, closes=4401),
    talk("two greetings", INIT, closes=4429),
    talk(
        "a false token",
        says(type="connection_init", payload={"authorization": "Bearer a"}),
        opened=False,
        closes=4401,
    ),
    talk(
        "a token in a list",
        says(type="connection_init", payload={"authorization": ["a"]}),
        opened=False,
        closes=4401,
    ),
    talk(
        "a greeting that is a list",
        says(type="connection_init", payload=[]),
        opened=False,
        closes=4400,
    ),
    talk(
        "two tokens",
        says(
            type="connection_init",
            payload={"authorization": "Bearer a", "Authorization": "Bearer b"},
        ),
        opened=False,
        closes=4401,
    ),
    talk("no JSON", "{", closes=4400),
    talk("a list", "[]", closes=4400),
    talk("nothing in a message", "", closes=4400),
    talk("a type unheard of", says(type="start", id="1"), closes=4400),
    talk("a type that is a number", says(type=7), closes=4400),
    talk("brackets without end", "[" * 500_000, closes=4400),
    talk(
        "objects in objects",
        '{"type":"ping","payload":' + '{"a":' * 5_000 + "1" + "}" * 5_001,
        closes=4400,
    ),
    talk("no id", says(type="subscribe", payload={"query": VIEWER}), closes=4400),
    talk("an id that is a number", subscribes(VIEWER, id=7), closes=4400),
    talk("an id of 129 letters", subscribes(VIEWER, id="a" * 129), closes=4400),
    talk("an empty id", subscribes(VIEWER, id=""), closes=4400),
    talk("no question", says(type="subscribe", id="1", payload={}), closes=4400),
    talk("a question in a list", subscribes([VIEWER]), closes=4400),
    talk("variables in a list", subscribes(VIEWER, variables=[]), closes=4400),
    talk(
        "an id that is taken",
        *[subscribes('subscription { pipelineChanged(id: "MY_ID") { id } }')] * 2,
        closes=4409,
    ),
    talk("binary", frame(b"{}", 2), closes=4400),
    talk("a megabyte and more", frame(b" " * 1_000_001), closes=1009),
    talk("a frame without a mask", b"\x81\x02{}", closes=1002),
    talk("a frame with reserved bits", frame(b"{}", reserved=0x40), closes=1002),
    talk("an opcode unheard of", frame(b"{}", 3), closes=1002),
    talk("bad UTF-8", frame(b"\xff\xfe"), closes=1007),
    talk("a ping in pieces", frame(b"a", 9, final=False), closes=1002),
    talk("a ping of 126 bytes", frame(b"a" * 126, 9), closes=1002),
    talk("a piece of nothing", frame(b"a", 0), closes=1002),
    talk("a close of one byte", frame(b"a", 8), closes=1002),
    talk("a close with a code of none", frame(struct.pack("!H", 1005), 8), closes=1002),
    talk("a length of 2^63", b"\x81\xff" + b"\xff" * 8 + MASK, closes=1009),
    talk("an end of nothing", says(type="complete", id="never"), says="userId"),
    talk("40 pings", *[says(type="ping", payload={"a": "b"})] * 40, says="pong"),
    talk(
        "a message in 60 pieces with pings between",
        frame(b"{", final=False)
        + (frame(b" ", 0, final=False) + frame(b"a", 9)) * 60
        + frame(b'"type":"ping"}', 0),
        says="pong",
    ),
    talk(
        "a megabyte in pieces of 1,000 bytes",
        frame(b"{", final=False)
        + frame(b" " * 1_000, 0, final=False) * 900
        + frame(b'"type":"ping"}', 0),
        says="pong",
    ),
    talk("a message of 70,000 bytes", says(type="ping", payload={"a": "b" * 70_000}), says="pong"),
    *FLOODS,
    talk("a document that is none", subscribes("{"), says="GRAPHQL_PARSE_FAILED"),
    talk(
        "31 aliases",
        subscribes("{" + " ".join(f"a{n}: viewer {{ userId }}" for n in range(31)) + "}"),
        says="QUERY_TOO_LARGE",
    ),
    talk(
        "the pipeline of another",
        subscribes('subscription { pipelineChanged(id: "THEIR_ID") { name } }'),
        says="NOT_FOUND",
    ),
    talk(
        "an id that is none",
        subscribes('subscription { pipelineChanged(id: "a") { name } }'),
        says="NOT_FOUND",
    ),
    talk(
        "two subscriptions in one",
        subscribes(
            'subscription { a: pipelineChanged(id: "a") { id } b: pipelineChanged(id: "b") { id } }'
        ),
        says="GRAPHQL_VALIDATION_FAILED",
    ),
    talk(
        "51 questions at once",
        *(
            subscribes('subscription { pipelineChanged(id: "MY_ID") { id } }', id=str(n))
            for n in range(51)
        ),
        says="LIMIT_EXCEEDED",
    ),
    talk(
        "30,000 tags",
        subscribes(
            "query($t: TagFilter) { pipelines(tags: $t) { nodes { id } } }",
            variables={"t": {"any": [{"key": "a", "value": "b"}] * 30_000}},
        ),
        says="QUERY_TOO_LARGE",
    ),
)


def event(
    name: str, document: str, says: str, variables: Mapping[str, object] | None = None
) -> Offence:
    return hostile_document(f"events: {name}", document, says, variables, headers=EVENTS)


STREAMED = (
    event("a document that is none", "{", "GRAPHQL_PARSE_FAILED"),
    event(
        "the pipeline of another",
        'subscription { pipelineChanged(id: "THEIR_ID") { name } }',
        "NOT_FOUND",
    ),
    event(
        "fragments in a circle",
        "{ ...A } fragment A on Query { ...A }",
        "GRAPHQL_VALIDATION_FAILED",
    ),
    event(
        "31 aliases",
        "{" + " ".join(f"a{n}: __typename" for n in range(31)) + "}",
        "QUERY_TOO_LARGE",
    ),
    event("a variable that is missing", "query($i: ID!) { node(id: $i) { id } }", "BAD_USER_INPUT"),
    event(
        "a mutation of another's",
        'mutation { deletePipeline(input: {id: "THEIR_ID"}) { __typename } }',
        "NotFound",
    ),
    event(
        "100,000 ids",
        "query($i: [ID!]!) { nodes(ids: $i) { id } }",
        "QUERY_TOO_LARGE",
        {"i": ["a"] * 100_000},
    ),
    Offence(name="events: no body", headers=EVENTS, status=400, says="BAD_REQUEST"),
    Offence(
        name="events: no proof",
        headers=(*EVENTS, ("authorization", "ABSENT")),
        body=b"{}",
        status=401,
        says="UNAUTHENTICATED",
    ),
    Offence(
        name="events: a form",
        headers=(*EVENTS, ("content-type", "application/x-www-form-urlencoded")),
        body=b"query=a",
        status=415,
        says="UNSUPPORTED_MEDIA_TYPE",
    ),
    Offence(
        name="events: a mutation by GET",
        method="GET",
        target='/graphql?query=mutation%7BdeleteGroup(input:%7Bpath:"/usa"%7D)%7B__typename%7D%7D',
        headers=EVENTS,
        status=405,
        says="METHOD_NOT_ALLOWED",
    ),
    Offence(
        name="events: a page of another site",
        method="GET",
        target="/graphql?query=subscription%7Ba%7D",
        headers=(*EVENTS, ("authorization", "ABSENT"), ("cookie", "a=b")),
        status=401,
        says="UNAUTHENTICATED",
    ),
)
