"""Answers that are far larger than what was read for them: refused, and the server goes on."""

import json
import socket
from collections.abc import Iterator
from contextlib import ExitStack, closing
from typing import Any

import pytest

from tests.server.hostile.attacked_server import AttackedServer, open_attacked_server
from tests.server.hostile.costly_documents import times
from tests.server.hostile.harm_checks import assert_good_request_is_served, write_offence
from tests.server.hostile.hostile_request import Offence
from tests.server.hostile.raw_connection import Talk
from tests.support.patience import wait_until

pytestmark = pytest.mark.runs_together("hostile")

TURNS = 8
MOST_GROWTH = 200 * 2**20
REFUSED = "LIMIT_EXCEEDED"
MAKE = "mutation($i: CreatePipelineInput!) { createPipeline(input: $i) { __typename \
... on CreatePipelinePayload { pipeline { id } } } }"
NUMBER = {"index": 0, "type": "NUMBER"}
EVALUATE = "query($i: EvaluateInput!) { evaluate(input: $i) { ... on EvaluatePayload { %s } } }"
IMPORT = 'mutation($t: String!) { importPlaylist(input: {format: M3U8, text: $t, name: "p", \
dryRun: true}) { ... on ImportPlaylistPayload { %s } } }'
TRACKS = "#EXTM3U\n" + times(9_900, "#EXTINF:12,Artist#N - T#N\n/a/b/#N.mp3\n", "")


def alias_often(field: str) -> str:
    return times(28, f"x#N: {field}")


def evaluation_of(field: str, formula: str, kind: str, value: object, rows: int) -> tuple[str, Any]:
    query = EVALUATE % field
    parameters = [{"index": 0, "key": "a", "type": kind, "required": True}]
    outputs = [{"index": 0, "label": "o", "type": kind}]
    draft = {"formula": formula, "parameters": parameters, "outputs": outputs}
    return query, {"i": {"draft": draft, "group": "/usa", "rows": [{"a": value}] * rows}}


EVERYTHING = "errors { __typename row column code message at { __typename line column } }"
JOINED = f"CONCAT({', '.join([':a'] * 16)})"
SHAPES: dict[str, tuple[str, Any]] = {
    "one object 100 times": (
        "query($i: [ID!]!) { nodes(ids: $i) { ... on Pipeline {"
        + alias_often("attributes")
        + "} } }",
        {"i": ["BIG_ID"] * 100},
    ),
    "tracks of a file": (
        IMPORT % alias_often("unmatched { position track { title } }"),
        {"t": TRACKS},
    ),
    "errors": evaluation_of(alias_often(EVERYTHING), "1 / :a", "NUMBER", 0, 1_000),
    "texts": evaluation_of(alias_often("values { text }"), JOINED, "STRING", "\u0001" * 1_000, 100),
}


@pytest.fixture(scope="module")
def target(tmp_path_factory: pytest.TempPathFactory) -> Iterator[AttackedServer]:
    settings = {"PENSTOCK_RATE_LIMIT_PER_SECOND": "0"}
    with open_attacked_server(tmp_path_factory.mktemp("large"), settings) as found:
        yield found


@pytest.fixture(scope="module")
def big_id(target: AttackedServer) -> str:
    """Create a pipeline with 9,000 small attributes."""
    transforms = [{"index": 0, "formula": ":a", "outputs": [{**NUMBER, "label": "o"}]}]
    parameters = [{**NUMBER, "key": "a", "required": True}]
    draft = {
        "group": "/usa",
        "name": "big",
        "attributes": {f"k{number}": "v" * 9 for number in range(9_000)},
        "transformer": {"parameters": parameters, "transforms": transforms},
    }
    with Talk(target.url) as talk:
        made = ask(talk, target, MAKE, {"i": draft})
    found: str = made["data"]["createPipeline"]["pipeline"]["id"]
    return found


def ask(talk: Talk, target: AttackedServer, query: str, variables: object) -> Any:
    talk.say(request_of(target, query, variables))
    return talk.reply().json


def request_of(target: AttackedServer, query: str, variables: object) -> bytes:
    """Return a request whose document is the same at each try."""
    body = json.dumps({"query": query, "variables": variables}).encode()
    return write_offence(Offence(name="large", body=body, status=200), target)


@pytest.mark.parametrize("name", SHAPES)
def test_an_answer_that_multiplies_what_was_read_is_refused(
    name: str, target: AttackedServer, big_id: str
) -> None:
    query, variables = SHAPES[name]
    variables = json.loads(json.dumps(variables).replace("BIG_ID", big_id))
    before = target.resident_bytes()
    with Talk(target.url) as talk:
        for _ in range(3):
            # The first run is interpreted, the others are compiled.
            answer = ask(talk, target, query, variables)
            codes = [error["extensions"]["code"] for error in answer["errors"]]
            assert (codes, answer["data"]) == ([REFUSED], None)
        assert_good_request_is_served(talk, target)
    assert target.resident_bytes() - before < MOST_GROWTH


def test_unread_large_answers_keep_the_turns_of_their_caller(
    target: AttackedServer, big_id: str
) -> None:
    query = "query($i: ID!) { pipeline(id: $i) {" + times(20, "x#N: attributes") + "} }"
    large = request_of(target, query, {"i": big_id})
    small = request_of(target, "{ viewer { userId } }", {})
    with ExitStack() as held:
        lines = [held.enter_context(closing(open_line(target))) for _ in range(TURNS)]
        for line in lines:
            line.sendall(large)
        wait_until(lambda: all(map(has_bytes, lines)))
        late = held.enter_context(closing(open_line(target)))
        late.sendall(small)
        for _ in range(20):
            with Talk(target.url) as talk:
                talk.say(f"GET /healthz HTTP/1.1\r\nhost: {target.host}\r\n\r\n".encode())
                assert talk.reply().status == 200
        assert not has_bytes(late)
        lines[0].close()
        wait_until(lambda: has_bytes(late))


def open_line(target: AttackedServer) -> socket.socket:
    """Open a connection that takes few bytes."""
    host, port = target.host.split(":")
    line = socket.socket()
    line.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4_096)
    line.connect((host, int(port)))
    return line


def has_bytes(line: socket.socket) -> bool:
    try:
        return bool(line.recv(1, socket.MSG_PEEK | socket.MSG_DONTWAIT))
    except BlockingIOError:
        return False
