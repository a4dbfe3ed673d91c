"""The gate of a listener bounds its connections, their memory, and their times."""

import asyncio
import itertools
import logging
from functools import partial

import pytest

from penstock.server.connections.connection import GuardedConnection
from penstock.server.connections.gate import (
    COMING_SECONDS,
    MAX_BEGINS,
    RESERVE,
    ConnectionGate,
    EndReason,
    Stage,
)
from tests.server.connections.wire import (
    ANSWER,
    HANDSHAKE,
    SECONDS,
    Clock,
    GuardedApp,
    NotingApp,
    get,
    post,
    statuses,
)
from tests.support.patience import until


async def test_silent_connections_make_room_for_new_ones() -> None:
    served = GuardedApp(NotingApp(), most=40)
    wires = [served.connect()[1] for _ in range(39)]
    idle, idle_wire = served.connect()
    await served.say(idle, get())
    served.clock.now += 1
    new = [served.connect() for _ in range(10)]
    assert [wire.was_aborted for wire in wires] == [True] * 10 + [False] * 29
    for connection, wire in new:
        await served.say(connection, get())
        assert statuses(wire) == [200]
    assert idle_wire.is_open
    assert len(served.gate) == 40


async def test_requests_beyond_the_cap_are_refused_but_those_for_health() -> None:
    served = GuardedApp(NotingApp(holds=True), most=3)
    for _ in range(3):
        await served.say(served.connect()[0], get())
    (one, refused), (other, probe) = served.connect(), served.connect()
    await served.say(one, get())
    assert statuses(refused) == [503]
    assert b"retry-after: 1\r\n" in refused.written
    await served.say(other, get("/healthz"))
    served.app.may_answer.set()
    await served.settle()
    assert (statuses(probe), probe.is_open) == ([200], False)
    assert served.app.requests == [("GET", "/a", b"")] * 3 + [("GET", "/healthz", b"")]


async def test_the_places_of_health_probes_are_bounded() -> None:
    served = GuardedApp(NotingApp(holds=True), most=3)
    for _ in range(3 + RESERVE):
        connection, _ = served.connect()
        await served.say(connection, get("/healthz"))
    _, wire = served.connect()
    assert statuses(wire) == [503]
    assert len(served.app.requests) == 3 + RESERVE


async def test_heads_that_never_end_share_a_bounded_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("penstock.server.connections.gate.MAX_HELD_BYTES", 100_000)
    served = GuardedApp(NotingApp())
    wires = []
    for _ in range(10):
        connection, wire = served.connect()
        await served.say(connection, b"GET / HTTP/1.1\r\na: " + b"b" * 29_981)
        wires.append((connection, wire))
    assert [wire.is_open for _, wire in wires] == [False] * 7 + [True] * 3
    for connection, _ in wires[:7]:
        served.lose(connection)
    assert served.gate.held_bytes == 90_000


async def test_floods_whose_answers_are_not_read_share_a_bounded_memory(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("penstock.server.connections.gate.MAX_HELD_BYTES", 100_000)
    served = GuardedApp(NotingApp(holds=True))
    wires = []
    for _ in range(5):
        connection, wire = served.connect()
        await served.say(connection, get())
        connection.pause_writing()
        await served.say(connection, get("/b") * 1_000)
        wires.append(wire)
    assert [wire.was_aborted for wire in wires] == [True, True, False, False, False]
    assert served.gate.held_bytes == 3 * 1_000 * len(get("/b"))


async def test_lost_connections_leave_nothing_behind() -> None:
    served = GuardedApp(NotingApp(holds=True))
    raws = (b"", b"GET / HT", get(), post(b"", length="5"), HANDSHAKE, b"\0", get() + b"GET")
    for raw in raws:
        connection, _ = served.connect()
        if raw:
            connection.data_received(raw)
        await asyncio.sleep(0)
        served.lose(connection)
    served.app.may_answer.set()
    await served.settle()
    await served.wait(100)
    assert (len(served.gate), served.gate.held_bytes, served.gate.bodies.total) == (0, 0, 0)
    assert [len(line) for line in served.gate._lines] == [0] * len(Stage)
    assert served.state.connections == set()


async def test_the_listener_for_administration_has_its_own_places_and_paths() -> None:
    served = GuardedApp(NotingApp(), most=1, admin_port=9)
    connection, wire = served.connect(port=9)
    for target in ("/healthz", "/readyz", "/metrics", "/graphql", "/", "/healthz/a"):
        await served.say(connection, get(target))
    assert statuses(wire) == [200, 200, 200, 404, 404, 404]
    assert [target for _, target, _ in served.app.requests] == ["/healthz", "/readyz", "/metrics"]
    assert len(served.gate) == 0
    assert wire.written.count(ANSWER) == 3


class Waiting:
    """A connection that notes what its gate does to it, and may fail to end."""

    def __init__(self, *, fails: bool = False, site: str = "") -> None:
        self.site = site
        self.ended: list[Stage] = []
        self.was_aborted = False
        self._fails = fails

    def end_wait(self, stage: Stage) -> None:
        self.ended.append(stage)
        if self._fails:
            raise RuntimeError("it cannot end")

    def abort(self) -> None:
        self.was_aborted = True

    def give_way(self) -> None:
        raise AssertionError("it awaits no body")

    @property
    def party(self) -> None:
        return None

    @property
    def body_bytes(self) -> int:
        return 0


async def test_refused_connections_do_not_count_as_silent_places() -> None:
    gate = ConnectionGate(3, SECONDS, Clock())
    busy = [Waiting() for _ in range(3 + RESERVE)]
    for one in busy:
        assert gate.admit(one)
        gate.move(one, Stage.FIRST_HEAD, None)
    for _ in range(40):
        refused = Waiting()
        assert (gate.admit(refused), gate.is_full) == (False, True)
        gate.move(refused, Stage.FIRST_HEAD, Stage.LEAVING)
        assert (len(gate), gate.is_full) == (3 + RESERVE, True)
    for one in busy[3:]:
        gate.remove(one)
    assert (len(gate), gate.is_full) == (3, False)
    assert [one.was_aborted for one in busy] == [False] * len(busy)


@pytest.mark.parametrize("stage", [stage for stage in Stage if stage is not Stage.BODY])
async def test_each_wait_for_a_silent_client_gives_its_place_away(stage: Stage) -> None:
    gate = ConnectionGate(20, SECONDS, Clock())
    crowd = [Waiting() for _ in range(100)]
    for one in crowd:
        assert gate.admit(one)
        if stage is Stage.READING:
            gate.move(one, Stage.FIRST_HEAD, None)
            gate.begin_reading(one)
        else:
            gate.move(one, Stage.FIRST_HEAD, stage)
        assert not gate.is_full
    assert (len(gate), gate.ends[EndReason.CROWDED_OUT]) == (20, 80)
    assert [one.was_aborted for one in crowd] == [True] * 80 + [False] * 20


def fill_with_idle(gate: ConnectionGate, clock: Clock, site: str) -> list[Waiting]:
    """Fill the gate with connections of a site that have been idle for a minute."""
    idle = [Waiting(site=site) for _ in range(gate.most)]
    for one in idle:
        gate.admit(one)
        gate.move(one, Stage.FIRST_HEAD, Stage.NEXT_REQUEST)
    clock.now += 60
    return idle


async def test_a_crowd_that_comes_all_the_time_keeps_no_other_site_out() -> None:
    clock = Clock()
    gate = ConnectionGate(40, SECONDS, clock)
    fill_with_idle(gate, clock, "crowd")
    good = Waiting(site="good")
    assert gate.admit(good)
    for _ in range(500):
        clock.now += 0.02
        assert gate.admit(Waiting(site="crowd"))
    assert not good.was_aborted
    gate.move(good, Stage.FIRST_HEAD, Stage.PROVING)
    for _ in range(500):
        assert gate.admit(Waiting(site="crowd"))
    assert not good.was_aborted


async def test_of_one_site_idle_clients_go_before_those_who_have_just_come() -> None:
    clock = Clock()
    gate = ConnectionGate(40, SECONDS, clock)
    idle = fill_with_idle(gate, clock, "proxy")
    for number in range(20):
        clock.now += 0.02
        assert gate.admit(Waiting(site="proxy"))
        assert [one.was_aborted for one in idle].count(True) == number + 1


async def test_of_one_site_silent_newcomers_go_before_idle_clients_after_a_moment() -> None:
    clock = Clock()
    gate = ConnectionGate(40, SECONDS, clock)
    idle = fill_with_idle(gate, clock, "proxy")
    late = Waiting(site="proxy")
    assert gate.admit(late)
    clock.now += 1
    assert gate.admit(Waiting(site="proxy"))
    assert (late.was_aborted, sum(one.was_aborted for one in idle)) == (True, 1)


@pytest.mark.parametrize("stage", [None, *(one for one in Stage if one is not Stage.READING)])
async def test_a_client_that_reads_again_counts_as_before(stage: Stage | None) -> None:
    gate = ConnectionGate(0, SECONDS, Clock())
    one = Waiting()
    gate.admit(one)
    gate.move(one, Stage.FIRST_HEAD, stage)
    before = gate.is_full
    gate.begin_reading(one)
    assert not gate.is_full
    gate.move(one, stage, Stage.HEAD)
    gate.move(one, Stage.HEAD, stage)
    assert not gate.is_full
    gate.end_reading(one, stage)
    assert gate.is_full is before is (stage in (None, Stage.BODY))


@pytest.mark.parametrize("stage", list(Stage))
async def test_one_failure_neither_hinders_others_nor_loses_a_timer(
    stage: Stage, caplog: pytest.LogCaptureFixture
) -> None:
    clock = Clock()
    gate = ConnectionGate(10, SECONDS, clock)
    broken, whole = Waiting(fails=True), Waiting()
    for one in (broken, whole):
        gate.admit(one)
        gate.move(one, Stage.FIRST_HEAD, stage)
    with caplog.at_level(logging.ERROR):
        for _ in range(2):
            clock.now += SECONDS[stage]
            await gate.end_late_ones()
    assert (broken.ended, broken.was_aborted) == ([stage] * 2, True)
    assert (whole.ended, whole.was_aborted) == ([stage] * 2, False)
    assert [record.levelname for record in caplog.records] == ["ERROR"] * 2


async def test_sockets_that_prove_nothing_make_room_for_requests() -> None:
    served = GuardedApp(NotingApp(), most=20)
    sockets = []
    for _ in range(60):
        connection, wire = served.connect()
        await served.say(connection, HANDSHAKE)
        assert statuses(wire) == [101]
        sockets.append(wire)
    good, wire = served.connect()
    await served.say(good, get())
    assert statuses(wire) == [200]
    assert [one.was_aborted for one in sockets] == [True] * 41 + [False] * 19


async def test_a_handshake_with_a_token_gives_way_after_all_who_are_silent() -> None:
    served = GuardedApp(NotingApp(), most=20)
    fields = b"authorization: Bearer a\r\n\r\n"
    proving, kept = served.connect()
    await served.say(proving, HANDSHAKE[:-2] + fields)
    sockets = []
    for _ in range(60):
        connection, wire = served.connect()
        await served.say(connection, HANDSHAKE)
        sockets.append(wire)
    assert (statuses(kept), kept.was_aborted) == ([101], False)
    assert sum(one.was_aborted for one in sockets) == 41
    assert isinstance(proving, GuardedConnection)
    proving.distrust()
    for _ in range(20):
        connection, wire = served.connect()
        await served.say(connection, HANDSHAKE)
    assert kept.was_aborted


async def test_bodies_of_strangers_make_room_for_requests() -> None:
    served = GuardedApp(NotingApp(distrusts=True), most=20)
    wires = []
    for _ in range(60):
        connection, wire = served.connect()
        await served.say(connection, post(b"", length="9"), b"a")
        wires.append(wire)
    good, wire = served.connect()
    await served.say(good, post(b"a"))
    assert statuses(wire) == [200]
    assert [one.was_aborted for one in wires] == [True] * 41 + [False] * 19
    served.app.may_answer.set()


async def test_of_those_whose_bodies_are_awaited_one_of_the_largest_crowd_gives_way() -> None:
    served = GuardedApp(NotingApp(users=["ann", "bob", "bob", "cid"]), most=4)
    wires = []
    for _ in range(4):
        connection, wire = served.connect()
        await served.say(connection, post(b"", length="9"), b"a")
        wires.append(wire)
    good, wire = served.connect()
    await served.say(good, get())
    assert [statuses(one) for one in (*wires, wire)] == [[], [503], [], [], [200]]
    assert b"retry-after: 1\r\n" in wires[1].written
    assert served.gate.ends == {EndReason.TOO_MANY: 1}


async def test_a_body_that_the_application_does_not_read_gives_no_way() -> None:
    served = GuardedApp(NotingApp(ignores_bodies=True, holds=True), most=1)
    busy, paused = served.connect()
    await served.say(busy, post(b"", length="900000"), b"a" * 100_000)
    late, refused = served.connect()
    await served.say(late, get())
    assert (paused.written, statuses(refused)) == (b"", [503])


async def test_a_caller_uses_at_most_half_of_the_places() -> None:
    served = GuardedApp(NotingApp(holds=True, users=["ann"] * 3 + ["bob"] + ["ann"] * 3), most=4)
    connections = [served.connect() for _ in range(4)]
    for connection, _ in connections:
        await served.say(connection, get())
    assert served.app.placed == [True, True, False, True]
    served.app.may_answer.set()
    await served.settle()
    assert served.gate._used == {}
    served.app.may_answer.clear()
    await served.say(connections[2][0], get())
    await served.say(connections[3][0], get())
    served.lose(connections[2][0])
    await served.say(connections[0][0], get())
    assert served.app.placed[4:] == [True, True, True]
    assert served.gate._used == {"ann": 2}


async def test_the_gate_counts_the_ends_by_their_reasons() -> None:
    served = GuardedApp(NotingApp(), most=100)
    for raw in (b"\0", b"GET / HTTP/1.1\r\na: " + b"b" * 33_000, get(), b"GET / HT", b""):
        connection, _ = served.connect()
        if raw:
            await served.say(connection, raw)
    await served.wait(10)
    assert served.gate.ends == {
        EndReason.MALFORMED: 1,
        EndReason.HEAD_TOO_LARGE: 1,
        EndReason.HEAD_TOO_LATE: 1,
        EndReason.SILENT: 1,
    }


async def test_a_burst_of_requests_begins_a_few_in_each_turn() -> None:
    served = GuardedApp(NotingApp(), most=4 * MAX_BEGINS)
    connections = [served.connect()[0] for _ in range(4 * MAX_BEGINS)]
    served.clock.now += 2 * COMING_SECONDS
    for connection in connections:
        connection.data_received(get() * 3)
    begun = await count_begun(served, 3 * 4 * MAX_BEGINS)
    assert begun[0] == max(begun) == MAX_BEGINS


async def count_begun(served: GuardedApp, most: int) -> list[int]:
    """The numbers of requests that begin in each turn of the loop until all have."""
    counts = [0]
    while len(served.app.requests) < most:
        await asyncio.sleep(0)
        counts.append(len(served.app.requests))
    return [later - earlier for earlier, later in itertools.pairwise(counts)]


async def test_while_connections_come_one_request_begins_in_each_turn() -> None:
    served = GuardedApp(NotingApp(), most=100)
    for _ in range(2 * MAX_BEGINS):
        served.connect()[0].data_received(get() * 2)
    assert set(await count_begun(served, 4 * MAX_BEGINS)) <= {0, 1}


@pytest.mark.parametrize("pieces", [1, 2])
async def test_a_request_for_health_begins_before_those_that_wait_for_their_turns(
    pieces: int,
) -> None:
    served = GuardedApp(NotingApp(), most=100)
    for _ in range(50):
        served.connect()[0].data_received(get() * 3)
    probe, raw = served.connect()[0], get("/healthz")
    for begin in range(0, len(raw), len(raw) // pieces + 1):
        probe.data_received(raw[begin : begin + len(raw) // pieces + 1])
    await until(lambda: len(served.app.requests) == 151)
    assert served.app.requests.index(("GET", "/healthz", b"")) <= 2 * MAX_BEGINS


async def test_requests_of_pieces_wait_for_their_turns_too() -> None:
    served = GuardedApp(NotingApp(), most=100)
    connections = [served.connect()[0] for _ in range(3 * MAX_BEGINS)]
    served.clock.now += 2 * COMING_SECONDS
    for connection in connections:
        connection.data_received(get()[:20])
        connection.data_received(get()[20:])
    assert max(await count_begun(served, 3 * MAX_BEGINS)) == MAX_BEGINS


async def test_a_request_that_waits_for_its_turn_is_served_with_its_body() -> None:
    served = GuardedApp(NotingApp(), most=100)
    for _ in range(3 * MAX_BEGINS):
        served.connect()[0].data_received(get())
    connection, wire = served.connect()
    connection.data_received(post(b"", length="5") + b"ab")
    connection.data_received(b"cde" + get("/b"))
    await until(lambda: statuses(wire) == [200, 200])
    assert served.app.requests[-2:] == [("POST", "/a", b"abcde"), ("GET", "/b", b"")]
    assert (wire.is_open, served.gate.held_bytes) == (True, 0)


async def test_no_request_begins_behind_an_answer_that_its_client_does_not_read() -> None:
    served = GuardedApp(NotingApp())
    connection, wire = served.connect()
    wire.unread = 1
    await served.say(connection, get() * 30)
    assert len(served.app.requests) == 1
    assert served.gate.held_bytes == 29 * len(get())
    wire.unread = 0
    connection.resume_writing()
    await served.settle()
    await until(lambda: len(served.app.requests) == 30)
    await served.settle()
    assert (statuses(wire), served.gate.held_bytes) == ([200] * 30, 0)


async def test_a_client_that_does_not_read_before_its_next_request_ends_as_unread() -> None:
    served = GuardedApp(NotingApp())
    connection, wire = served.connect()
    wire.unread = 1
    await served.say(connection, get() * 3)
    await served.wait(SECONDS[Stage.READING])
    assert (wire.was_aborted, len(served.app.requests)) == (True, 1)
    assert served.gate.ends == {EndReason.UNREAD: 1}


async def test_requests_behind_others_begin_a_few_in_each_turn_of_the_loop() -> None:
    gate = GuardedApp(NotingApp(), most=3).gate
    begun: list[int] = []
    for number in range(3 * MAX_BEGINS + 1):
        gate.begin_later(partial(begun.append, number))
    counts = []
    for _ in range(4):
        await asyncio.sleep(0)
        counts.append(len(begun))
    assert counts == [MAX_BEGINS, 2 * MAX_BEGINS, 3 * MAX_BEGINS, 3 * MAX_BEGINS + 1]
    assert begun == sorted(begun)
