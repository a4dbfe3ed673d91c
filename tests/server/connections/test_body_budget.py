"""The bodies under way share a bounded memory, of which one caller or address has half."""

import struct

import pytest

from penstock.server.connections.body_budget import BodyBudget
from penstock.server.connections.connection import GuardedConnection
from penstock.server.connections.gate import EndReason
from tests.server.connections.wire import (
    FRAME,
    HANDSHAKE,
    GuardedApp,
    NotingApp,
    Wire,
    get,
    in_chunks,
    post,
    statuses,
)

BEGUN = post(b"", length="400")
CHUNKED = b"POST /a HTTP/1.1\r\nhost: a\r\ntransfer-encoding: chunked\r\n\r\n"


def open_served(app: NotingApp, most: int = 1_000) -> GuardedApp:
    return GuardedApp(app, bodies=BodyBudget(most))


async def send(served: GuardedApp, *pieces: bytes, address: str = "") -> Wire:
    """Send the pieces over a new connection; returns its wire."""
    connection, wire = served.connect(address=address)
    await served.say(connection, *pieces)
    return wire


@pytest.mark.parametrize(
    ("head", "part"),
    [(BEGUN, b"a" * 300), (CHUNKED, in_chunks(b"a" * 300))],
    ids=["sized", "chunks"],
)
async def test_a_caller_has_half_of_the_bytes_of_all_bodies(head: bytes, part: bytes) -> None:
    served = open_served(NotingApp(users=["ann", "ann", "bob"]))
    wires = [await send(served, head, part) for _ in range(3)]
    assert [statuses(wire) for wire in wires] == [[], [429], []]
    assert b"connection: close\r\nretry-after: 1\r\n" in wires[1].written
    assert wires[1].has_ended_writing
    assert (served.gate.bodies.total, served.app.left) == (600, 1)
    assert served.app.requests == []
    assert served.gate.ends == {EndReason.TOO_MUCH_BODY: 1}


async def test_an_address_has_half_of_them_before_its_callers_are_known() -> None:
    served = open_served(NotingApp())
    sites = ("10.0.0.1", "10.0.0.1", "::ffff:10.0.0.1", "10.0.0.2", "2001:db8::1", "2001:db8::2")
    wires = [await send(served, BEGUN, b"a" * 250, address=site) for site in sites[:3]]
    assert [statuses(wire) for wire in wires] == [[], [], [429]]
    assert [statuses(await send(served, BEGUN, b"a" * 250, address=sites[3]))] == [[]]
    served = open_served(NotingApp())
    wires = [await send(served, BEGUN, b"a" * 300, address=site) for site in sites[4:]]
    assert [statuses(wire) for wire in wires] == [[], [429]]


async def test_whole_bodies_of_a_caller_count_too_once_the_caller_is_known() -> None:
    served = open_served(NotingApp(holds=True, users=["ann"] * 4))
    wires = [await send(served, post(b"a" * 200)) for _ in range(4)]
    assert [statuses(wire) for wire in wires] == [[], [], [429], [429]]
    assert [body for *_, body in served.app.requests] == [b"a" * 200] * 2
    assert (served.gate.bodies.total, served.app.left) == (400, 2)
    served.app.may_answer.set()
    await served.settle()
    assert [statuses(wire) for wire in wires] == [[200], [200], [429], [429]]
    assert served.gate.bodies.total == 0


async def test_a_body_counts_until_its_request_ends_also_when_its_client_has_left() -> None:
    served = open_served(NotingApp(holds=True, users=["ann", "ann"]))
    connection, _ = served.connect()
    await served.say(connection, post(b"a" * 400))
    served.lose(connection)
    assert served.gate.bodies.total == 400
    assert statuses(await send(served, post(b"a" * 400))) == [429]
    served.app.may_answer.set()
    await served.settle()
    assert served.gate.bodies.total == 0


async def test_beyond_the_total_an_unfinished_body_of_the_largest_party_gives_way() -> None:
    served = open_served(NotingApp(users=["ann", "ann", "bob", "bob", "cid"]))
    wires = [await send(served, BEGUN, b"a" * size) for size in (210, 280, 240, 240)]
    cid = await send(served, post(b"a" * 200))
    assert [statuses(wire) for wire in wires] == [[], [503], [], []]
    assert b"retry-after: 1\r\n" in wires[1].written
    assert statuses(cid) == [200]
    assert served.gate.bodies.total == 690


async def test_beyond_the_total_the_largest_party_itself_is_refused() -> None:
    served = open_served(NotingApp(users=["ann", "bob", "cid", "bob"]))
    wires = [await send(served, BEGUN, b"a" * size) for size in (300, 390, 300, 20)]
    assert [statuses(wire) for wire in wires] == [[], [], [], [503]]
    assert served.gate.bodies.total == 990


async def test_whole_bodies_that_wait_give_no_way_and_the_newcomer_is_refused() -> None:
    served = open_served(NotingApp(holds=True, users=["ann", "bob", "cid"]))
    wires = [await send(served, post(b"a" * size)) for size in (500, 500, 1)]
    assert [statuses(wire) for wire in wires] == [[], [], [503]]
    assert b"retry-after: 1\r\n" in wires[2].written
    served.app.may_answer.set()
    await served.settle()
    assert [statuses(wire) for wire in wires] == [[200], [200], [503]]


async def test_a_body_behind_its_answer_counts_for_nobody() -> None:
    served = open_served(NotingApp(ignores_bodies=True))
    wire = await send(served, BEGUN, b"a" * 300)
    assert statuses(wire) == [200]
    assert served.gate.bodies.total == 0
    assert statuses(await send(served, post(b"a" * 400))) == [200]


async def test_what_an_application_has_passed_on_counts_no_longer() -> None:
    served = open_served(NotingApp(holds=True))
    connection, wire = served.connect()
    assert isinstance(connection, GuardedConnection)
    await served.say(connection, post(b"", length="5000"))
    for _ in range(10):
        await served.say(connection, b"a" * 500)
        connection.release_body(500)
    assert served.gate.bodies.total == 0
    served.app.may_answer.set()
    await served.settle()
    assert (statuses(wire), served.gate.bodies.total) == ([200], 0)


async def test_a_client_that_waited_for_continue_reads_why_its_body_is_refused() -> None:
    served = open_served(NotingApp(users=["ann"]))
    connection, wire = served.connect()
    await served.say(connection, post(b"", "expect: 100-continue", length="900"))
    assert statuses(wire) == [100]
    await served.say(connection, b"a" * 501)
    assert (statuses(wire), wire.was_aborted) == ([100, 429], False)


async def test_two_of_the_largest_bodies_fit_into_any_budget() -> None:
    served = GuardedApp(NotingApp(holds=True, users=["ann", "bob"]), bodies=BodyBudget(10, 400))
    assert [statuses(await send(served, post(b"a" * 400))) for _ in range(2)] == [[], []]
    assert len(served.app.requests) == 2


async def test_a_request_without_a_body_needs_no_room() -> None:
    served = open_served(NotingApp(holds=True, users=["ann", "bob", "ann"]))
    for _ in range(2):
        await send(served, post(b"a" * 500))
    await send(served, get())
    assert [target for _, target, _ in served.app.requests] == ["/a"] * 3


TEXT, REST, PING, LAST = 0x01, 0x00, 0x09, 0x80


def frame(first: int, size: int, length: int | None = None) -> bytes:
    """A frame of so many letters, masked by zeros, of which `length` are announced."""
    announced = size if length is None else length
    return struct.pack("!BBHI", first, 0xFE, announced, 0) + b"a" * size


MESSAGES = pytest.mark.parametrize(
    ("begun", "rest", "size"),
    [
        ((frame(TEXT | LAST, 300, 400),), b"a" * 100, 400),
        ((frame(TEXT, 150), frame(REST, 150)), frame(REST | LAST, 126), 426),
    ],
    ids=["a large frame", "fragments"],
)


async def open_socket(
    served: GuardedApp, *pieces: bytes, address: str = ""
) -> tuple[GuardedConnection, Wire]:
    """Open a WebSocket whose client is known, and send the pieces over it."""
    connection, wire = served.connect(address=address)
    assert isinstance(connection, GuardedConnection)
    await served.say(connection, HANDSHAKE)
    connection.trust()
    await served.say(connection, *pieces)
    return connection, wire


def close_codes(wire: Wire) -> list[int]:
    """The codes of the close frames behind the head of the answer."""
    _, _, frames = wire.written.partition(b"\r\n\r\n")
    return [struct.unpack("!H", frames[2:4])[0]] if frames else []


@MESSAGES
async def test_messages_that_are_arriving_count_as_bodies_do(
    begun: tuple[bytes, ...], rest: bytes, size: int
) -> None:
    served = open_served(NotingApp(users=["ann", "ann", "bob"]))
    sockets = [await open_socket(served, *begun) for _ in range(3)]
    assert [close_codes(wire) for _, wire in sockets] == [[], [1013], []]
    assert served.gate.bodies.total == 600
    assert served.gate.ends == {EndReason.TOO_MUCH_BODY: 1}
    await served.say(sockets[0][0], rest)
    assert [len(text) for *_, text in served.app.requests] == [size]
    assert served.gate.bodies.total == 300


@MESSAGES
async def test_a_message_counts_no_longer_when_its_client_has_left(
    begun: tuple[bytes, ...], rest: bytes, size: int
) -> None:
    served = open_served(NotingApp(users=["ann", "ann"]))
    connection, _ = await open_socket(served, *begun)
    assert served.gate.bodies.total == 300
    served.lose(connection)
    assert served.gate.bodies.total == 0
    connection, wire = await open_socket(served, *begun, rest)
    assert ([len(text) for *_, text in served.app.requests], close_codes(wire)) == ([size], [])
    assert served.gate.bodies.total == 0


async def test_pings_between_fragments_and_whole_small_messages_need_no_room() -> None:
    served = open_served(NotingApp())
    ping = bytes((PING | LAST, 0x80 | 100)) + bytes(104)
    connection, _ = await open_socket(served, frame(TEXT, 126), *[ping] * 20)
    assert served.gate.bodies.total == 126
    await served.say(connection, frame(REST | LAST, 126), frame(TEXT | LAST, 900), FRAME)
    assert [len(text) for *_, text in served.app.requests] == [252, 900, 2]
    assert served.gate.bodies.total == 0


async def test_beyond_the_total_an_unfinished_message_of_the_largest_party_gives_way() -> None:
    served = open_served(NotingApp(users=["ann", "bob", "carl", "dora"]))
    _, wire = await open_socket(served, frame(TEXT, 300))
    others = [await send(served, BEGUN, b"a" * 250) for _ in range(3)]
    assert [statuses(one) for one in others] == [[], [], []]
    assert (close_codes(wire), served.gate.bodies.total) == ([1013], 750)
    assert served.gate.ends == {EndReason.TOO_MANY: 1}


async def test_a_client_who_begins_a_message_and_falls_silent_is_let_go() -> None:
    served = open_served(NotingApp(users=["ann"]))
    connection, wire = await open_socket(served, frame(TEXT, 300, 400))
    await served.wait(59)
    before = wire.is_open
    await served.wait(2)
    assert (before, wire.is_open) == (True, False)
    served.lose(connection)
    assert served.gate.bodies.total == 0
