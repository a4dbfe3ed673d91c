"""The server under attack: no 5xx, no leak, and no blocked event loop."""

import json
from collections.abc import Iterator

import pytest

from tests.server.hostile.attacked_server import OWN, SECRET, AttackedServer, open_attacked_server
from tests.server.hostile.bodies import BODIES
from tests.server.hostile.costly_documents import LARGE
from tests.server.hostile.foreign_data import FOREIGN
from tests.server.hostile.graphql_cop_checks import COP
from tests.server.hostile.harm_checks import (
    assert_good_request_is_served,
    assert_loop_goes_on,
    assert_nothing_leaks,
    write_offence,
)
from tests.server.hostile.headers import HEADERS, URLS
from tests.server.hostile.hostile_request import Garbage, HostileTalk, Offence
from tests.server.hostile.malformed_http import GARBAGE
from tests.server.hostile.probing_documents import INTROSPECTION, ODD_ONES
from tests.server.hostile.raw_connection import CloseFrame, Conversation, Talk
from tests.server.hostile.stream_messages import (
    HANDSHAKES,
    INIT,
    SOCKETS,
    STREAMED,
    says,
    subscribes,
)
from tests.server.hostile.variables import VARIABLES

pytestmark = pytest.mark.runs_together("hostile")

REFUSED = (b"HTTP/1.1 400 ", b"HTTP/1.1 405 ")

OFFENCES = (
    *COP,
    *BODIES,
    *HEADERS,
    *URLS,
    *LARGE,
    *ODD_ONES,
    *INTROSPECTION,
    *FOREIGN,
    *VARIABLES,
    *STREAMED,
)
UNDER_OURS = "Invalid UTF-8 sequence received from client."
ANSWER = '{"data":{"viewer":{"userId":"me"}}}'


@pytest.fixture(scope="module")
def target(tmp_path_factory: pytest.TempPathFactory) -> Iterator[AttackedServer]:
    with open_attacked_server(tmp_path_factory.mktemp("hostile"), pipelines=100) as found:
        yield found


def test_there_are_enough_of_them() -> None:
    offences = [*OFFENCES, *HANDSHAKES, *GARBAGE, *SOCKETS]
    assert len({str(one) for one in offences}) == len(offences)
    assert len(offences) > 250


@pytest.mark.parametrize("offence", OFFENCES, ids=str)
def test_a_request_is_answered_without_harm_and_the_next_one_served(
    offence: Offence, target: AttackedServer
) -> None:
    def attack() -> None:
        with Talk(target.url) as talk:
            talk.say(write_offence(offence, target))
            reply = talk.reply(to_head=offence.method == "HEAD")
            assert reply.status == offence.status, reply.raw[:1000]
            assert offence.says.encode() in reply.body, reply.body[:1000]
            assert_nothing_leaks(reply.raw, target)
            assert talk.open == offence.keeps
            if talk.open:
                assert_good_request_is_served(talk, target)
        with Talk(target.url) as another:
            assert_good_request_is_served(another, target)

    assert_loop_goes_on(target, attack)


@pytest.mark.parametrize("garbage", GARBAGE, ids=str)
def test_bytes_that_are_no_request_end_their_connection(
    garbage: Garbage, target: AttackedServer
) -> None:
    def attack() -> None:
        with Talk(target.url) as talk:
            talk.say(garbage.raw)
            heard = talk.rest()
            assert heard == b"" or heard.startswith(REFUSED), heard[:1000]
            assert heard.count(b"HTTP/1.1") <= 1
            assert_nothing_leaks(heard, target)
        with Talk(target.url) as another:
            assert_good_request_is_served(another, target)

    assert_loop_goes_on(target, attack)


@pytest.mark.parametrize("offence", HANDSHAKES, ids=str)
def test_a_handshake_is_refused(offence: Offence, target: AttackedServer) -> None:
    def attack() -> None:
        with Talk(target.url) as talk:
            talk.say(write_offence(offence, target))
            heard = talk.rest()
            assert heard.startswith(f"HTTP/1.1 {offence.status} ".encode()), heard[:1000]
            assert_nothing_leaks(heard, target)
        with Talk(target.url) as another:
            assert_good_request_is_served(another, target)

    assert_loop_goes_on(target, attack)


@pytest.mark.parametrize("talked", SOCKETS, ids=str)
def test_a_socket_is_closed_with_a_reason_or_goes_on(
    talked: HostileTalk, target: AttackedServer
) -> None:
    def attack() -> None:
        with Talk(target.url) as talk:
            conversation = open_conversation(talk, talked, target)
            for message in talked.messages:
                conversation.say(replace_words(message, target))
            if talked.closes is None:
                assert_still_converses(conversation, talked)
            else:
                assert last_heard(conversation).code == talked.closes
            assert_nothing_leaks(talk.heard, target)
        with Talk(target.url) as another:
            assert_good_request_is_served(another, target)

    assert_loop_goes_on(target, attack)


def test_the_log_holds_no_unexpected_exception_and_no_secret(target: AttackedServer) -> None:
    with Talk(target.url) as talk:
        assert_good_request_is_served(talk, target)
    lines = [json.loads(line) for line in target.log_text().splitlines() if line.startswith("{")]
    assert len(lines) > 0
    # The HTTP server below ours logs a traceback for a frame that is not UTF-8.
    raised = {line["event"] for line in lines if "exception" in line} - {UNDER_OURS}
    assert raised == set()
    hidden = (SECRET, OWN, target.token, *target.secrets[:2])
    assert [text for text in hidden if text in target.log_text()] == []


def open_conversation(talk: Talk, talked: HostileTalk, at: AttackedServer) -> Conversation:
    """Do the handshake, and send `connection_init` if the messages begin after it.

    Without it the client is a stranger: its handshake carries no token.
    """
    talk.say(write_offence(handshake(with_token=talked.opened), at))
    assert talk.reply().status == 101
    conversation = Conversation(talk)
    if talked.opened:
        conversation.say(INIT)
        assert conversation.hear() == '{"type":"connection_ack"}'
    return conversation


def handshake(*, with_token: bool) -> Offence:
    usual = {name: value for name, value in HANDSHAKES[0].headers if name != "origin"}
    if not with_token:
        usual["authorization"] = "ABSENT"
    return Offence(name="handshake", method="GET", headers=tuple(usual.items()), status=101)


def replace_words(message: str | bytes, at: AttackedServer) -> str | bytes:
    if isinstance(message, str):
        for word, text in at.meant.items():
            message = message.replace(word, text)
    return message


def last_heard(conversation: Conversation) -> CloseFrame:
    while not isinstance(heard := conversation.hear(), CloseFrame):
        pass
    return heard


def assert_still_converses(conversation: Conversation, talked: HostileTalk) -> None:
    """Read the answer to the offence, then send a good request and read its answer."""
    heard: list[str] = []

    def hear() -> str:
        one = conversation.hear()
        assert not isinstance(one, CloseFrame), (one, heard[-3:])
        heard.append(one)
        return one

    if talked.says not in ANSWER:
        while talked.says not in hear():
            pass
    conversation.say(says(type="complete", id="1"))
    conversation.say(subscribes("{ viewer { userId } }", id="good"))
    while json.loads(hear()) != {"id": "good", "type": "complete"}:
        pass
    assert any(talked.says in one for one in heard), heard[-3:]
    assert any(ANSWER in one for one in heard)
