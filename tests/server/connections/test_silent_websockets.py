"""Silent WebSockets of one address and of many, over real connections."""

import json
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.server.hostile.hostile_request import Offence
from tests.server.hostile.raw_connection import CloseFrame, ConnectionEnded, Conversation, Talk
from tests.server.hostile.stream_messages import HANDSHAKES, INIT, frame, says, subscribes
from tests.support.penstock_command import Server, start_server, token_of

pytestmark = pytest.mark.runs_together("silent websockets")

MOST, SILENT = 200, 300
ACK = '{"type":"connection_ack"}'
CROWDED_OUT = CloseFrame(1013, "Too many clients are connecting")
VIEWER = subscribes("{ viewer { userId } }")
ANSWER = {"id": "1", "type": "next", "payload": {"data": {"viewer": {"userId": "ana"}}}}


@pytest.fixture(scope="module")
def data_dir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("silent") / "data"


@pytest.fixture(scope="module")
def server(data_dir: Path) -> Iterator[Server]:
    """A server for which a silent client has no end."""
    arguments = ("--port", "0", "--no-seed", "--data-dir", str(data_dir))
    patience = {"PENSTOCK_STREAM_INIT_SECONDS": "1000", "PENSTOCK_MAX_STREAMS_PER_CALLER": "1000"}
    with start_server(data_dir.parent / "log", *arguments, **patience) as server:
        yield server


class Crowd:
    """Clients of one server that stay connected until the end of the test."""

    def __init__(self, server: Server, stack: ExitStack) -> None:
        self._url = server.url
        self._stack = stack

    def connect(self, source: str = "127.0.0.1", token: str | None = None) -> Conversation:
        talk = self._stack.enter_context(Talk(self._url, source))
        headers = {name: text for name, text in HANDSHAKES[0].headers if name != "origin"}
        headers["authorization"] = "ABSENT" if token is None else f"Bearer {token}"
        offence = Offence(name="", method="GET", headers=tuple(headers.items()), status=101)
        talk.say(offence.request(talk.host, "", {}))
        assert talk.reply().status == 101
        return Conversation(talk)


@pytest.fixture
def crowd(server: Server) -> Iterator[Crowd]:
    with ExitStack() as stack:
        yield Crowd(server, stack)


def assert_served(conversation: Conversation, init: str) -> None:
    conversation.say(init)
    assert conversation.hear() == ACK
    conversation.say(VIEWER)
    answer = conversation.hear()
    assert isinstance(answer, str)
    assert json.loads(answer) == ANSWER


def init_with(token: str) -> str:
    return says(type="connection_init", payload={"authorization": f"Bearer {token}"})


def test_a_crowd_of_one_address_keeps_no_good_client_out(crowd: Crowd, data_dir: Path) -> None:
    token = token_of(data_dir, "/=reader")
    proven = [crowd.connect(token=token) for _ in range(5)]
    silent = [crowd.connect() for _ in range(SILENT)]
    for one in silent[: SILENT - MOST]:
        assert one.hear() == CROWDED_OUT
        with pytest.raises(ConnectionEnded):
            one.hear()
    for _ in range(5):
        assert_served(crowd.connect(), init_with(token))
        assert_served(crowd.connect(token=token), INIT)
    for one in proven:
        assert_served(one, INIT)
    for one in silent[-10:]:
        assert_served(one, init_with(token))


def test_a_crowd_leaves_the_clients_of_other_addresses_alone(crowd: Crowd, data_dir: Path) -> None:
    token = token_of(data_dir, "/=reader")
    early = [crowd.connect(f"127.0.0.{number}") for number in range(2, 12)]
    silent = [crowd.connect() for _ in range(SILENT)]
    late = [crowd.connect(f"127.0.1.{number}") for number in range(2, 12)]
    for one in (*early, *late):
        assert_served(one, init_with(token))
    assert silent[0].hear() == CROWDED_OUT


def test_a_crowd_of_many_addresses_keeps_no_good_client_out(crowd: Crowd, data_dir: Path) -> None:
    token = token_of(data_dir, "/=reader")
    for number in range(SILENT):
        crowd.connect(f"127.0.2.{number % 250 + 1}")
    for number in range(1, 11):
        assert_served(crowd.connect(f"127.0.3.{number}"), init_with(token))
        assert_served(crowd.connect(f"127.0.2.{number}"), init_with(token))


def test_a_client_that_only_pings_counts_as_silent(crowd: Crowd, data_dir: Path) -> None:
    talking = crowd.connect()
    talking.say(frame(b"", 9))
    talking.say(says(type="ping"))
    assert talking.hear() == '{"type":"pong"}'
    for _ in range(MOST):
        crowd.connect()
    assert talking.hear() == CROWDED_OUT
    assert_served(crowd.connect(), init_with(token_of(data_dir, "/=reader")))
