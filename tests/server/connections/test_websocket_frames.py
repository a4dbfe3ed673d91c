"""The count of a client's frames and bytes, without a connection."""

import struct

import pytest

from penstock.datastore.errors import RateLimited
from penstock.server.connections.websocket_frames import (
    CONTROL_BURST,
    FRAGMENT_BYTES,
    FREE_FRAGMENTS,
    STRANGER_BYTES,
    TURN_BYTES,
    TURN_FRAMES,
    FrameRefused,
    FrameWalker,
)
from tests.server.hostile.stream_messages import MASK, frame

MOST_BYTES = 1_000_000
PING, PONG = 9, 10


class Clock:
    """A clock that stands still."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


class Purse:
    """Pays for messages while it has enough."""

    def __init__(self, units: int) -> None:
        self.units = units
        self.paid: list[int] = []

    def pay(self, units: int) -> None:
        if units > self.units:
            raise RateLimited(1)
        self.units -= units
        self.paid.append(units)


def walker_at(clock: Clock, purse: Purse | None = None) -> FrameWalker:
    """Return the walker of a client who is known."""
    walker = FrameWalker(MOST_BYTES, clock)
    walker.admit((purse or Purse(10_000)).pay)
    return walker


def turns_of(walker: FrameWalker, frames: bytes) -> list[int]:
    """Return the bytes of each turn until the walker needs more."""
    unread, turns = bytearray(frames), []
    while unread and (size := walker.advance(unread)):
        turns.append(size)
        del unread[:size]
    return turns


def refusal_of(walker: FrameWalker, frames: bytes) -> tuple[int, str]:
    with pytest.raises(FrameRefused) as refused:
        turns_of(walker, frames)
    return refused.value.code, refused.value.reason


def pieces(number: int, size: int) -> bytes:
    """Return so many fragments of a message without an end."""
    return frame(b"a" * size, final=False) + frame(b"a" * size, 0, final=False) * (number - 1)


def test_a_turn_ends_with_the_first_message() -> None:
    walker = walker_at(Clock())
    message = frame(b"hello")
    assert walker.advance(bytearray(message * 3)) == len(message)
    assert walker.ended_message
    assert turns_of(walker, frame(b"") * 3) == [6, 6, 6]


def test_a_turn_has_few_frames() -> None:
    walker = walker_at(Clock())
    ping = frame(b"a", PING)
    assert turns_of(walker, ping * 90) == [TURN_FRAMES * 7, 26 * 7]
    assert not walker.ended_message


def test_a_turn_has_few_bytes() -> None:
    message = frame(b"a" * 200_000)
    turns = turns_of(walker_at(Clock()), message)
    assert sum(turns) == len(message)
    assert max(turns) <= TURN_BYTES + 14


def test_any_split_of_the_bytes_is_the_same_message() -> None:
    message = (
        frame(b"a" * 300, final=False)
        + frame(b"b", PING)
        + frame(b"", 0, final=False)
        + frame(b"c" * 70_000, 0)
    )
    for step in (1, 2, 3, 7, 1_000, 65_536):
        walker, unread, taken, ends = walker_at(Clock()), bytearray(), 0, []
        for start in range(0, 2 * len(message), step):
            unread += (message * 2)[start : start + step]
            while size := walker.advance(unread):
                taken += size
                del unread[:size]
                ends += [taken] if walker.ended_message else []
        assert (taken, ends) == (2 * len(message), [len(message), 2 * len(message)])


@pytest.mark.parametrize("opcode", [1, 2])
@pytest.mark.parametrize("size", [0, 1, 100])
def test_a_message_has_few_fragments_for_its_size(size: int, opcode: int) -> None:
    clock = Clock()
    most = FREE_FRAGMENTS
    while most < FREE_FRAGMENTS + most * size // FRAGMENT_BYTES:
        most += 1
    whole = pieces(most, size)[1:]
    walker = walker_at(clock)
    assert sum(turns_of(walker, bytes([opcode]) + whole)) == len(whole) + 1
    refused = (1008, "Too many fragments for the size of the message")
    assert refusal_of(walker, frame(b"", 0, final=False)) == refused


def test_fragments_of_some_size_are_bounded_by_their_bytes_only() -> None:
    walker = walker_at(Clock())
    message = pieces(MOST_BYTES // 256, 256) + frame(b"", 0)
    assert sum(turns_of(walker, message)) == len(message)
    assert walker.ended_message


def test_each_message_has_its_own_fragments() -> None:
    walker = walker_at(Clock())
    message = pieces(FREE_FRAGMENTS - 1, 0) + frame(b"", 0)
    assert sum(turns_of(walker, message * 20)) == 20 * len(message)


@pytest.mark.parametrize("opcode", [8, PING, PONG, 11])
def test_control_frames_are_few_each_second(opcode: int) -> None:
    clock = Clock()
    walker = walker_at(clock)
    control = frame(b"", opcode)
    assert sum(turns_of(walker, control * CONTROL_BURST)) == len(control) * CONTROL_BURST
    clock.now += 1
    assert sum(turns_of(walker, control * 10)) == len(control) * 10
    assert refusal_of(walker, control) == (1008, "Too many control frames")


def test_a_long_rest_earns_no_more_than_the_first_burst() -> None:
    clock = Clock()
    walker = walker_at(clock)
    clock.now += 1_000_000
    assert refusal_of(walker, frame(b"", PING) * (CONTROL_BURST + 1))[0] == 1008


@pytest.mark.parametrize("begin", [b"", pieces(1, 400_000)])
def test_a_message_is_refused_at_the_header_that_makes_it_too_long(begin: bytes) -> None:
    walker = walker_at(Clock())
    left = MOST_BYTES - (400_000 if begin else 0)
    opcode = 0 if begin else 1
    turns_of(walker, begin)
    too_long = bytes([0x80 | opcode, 0xFF]) + struct.pack("!Q", left + 1) + MASK
    assert refusal_of(walker, too_long) == (1009, "A message has at most 1000000 bytes")


def test_a_message_of_the_most_bytes_passes() -> None:
    whole = frame(b"a" * MOST_BYTES)
    assert sum(turns_of(walker_at(Clock()), whole)) == len(whole)


@pytest.mark.parametrize(
    ("length", "form"), [(0, "!H"), (125, "!H"), (0, "!Q"), (126, "!Q"), (65_535, "!Q")]
)
def test_a_length_has_its_shortest_form(length: int, form: str) -> None:
    marker = 0xFE if form == "!H" else 0xFF
    head = bytes([0x81, marker]) + struct.pack(form, length) + MASK
    assert refusal_of(walker_at(Clock()), head) == (1002, "The length is not in its shortest form")


def test_no_more_than_the_start_of_a_frame_without_a_mask_is_passed_on() -> None:
    assert walker_at(Clock()).advance(bytearray(b"\x81\x02{}")) >= 2
    assert walker_at(Clock()).advance(bytearray(b"\x81")) == 0


def test_a_message_is_paid_at_its_header_and_small_ones_are_free() -> None:
    purse = Purse(1_000)
    walker = walker_at(Clock(), purse)
    turns_of(walker, frame(b"a" * 999) * 3 + frame(b"a" * 1_000) + frame(b"a" * 250_000)[:20])
    assert purse.paid == [1, 250]
    assert walker.is_paid


def test_fragments_are_paid_together_by_the_thousand() -> None:
    purse = Purse(1_000)
    message = pieces(5, 900) + frame(b"", 0)
    assert sum(turns_of(walker_at(Clock(), purse), message * 2)) == 2 * len(message)
    assert purse.paid == [1] * 8


def test_a_message_that_cannot_be_paid_waits_whole_and_is_counted_once() -> None:
    purse = Purse(5)
    walker = walker_at(Clock(), purse)
    small, large = frame(b"", PING), frame(b"a" * 7_000)
    unread = bytearray(small + large)
    assert (walker.advance(unread), walker.is_limited) == (len(small), True)
    del unread[: len(small)]
    for _ in range(FREE_FRAGMENTS + CONTROL_BURST):
        assert (walker.advance(unread), walker.is_limited) == (0, True)
    assert purse.paid == []
    purse.units = 7
    assert (walker.advance(unread), walker.is_limited) == (len(large), False)
    assert (purse.paid, walker.is_paid, walker.ended_message) == ([7], True, True)


def test_a_fragment_that_cannot_be_paid_waits_behind_those_that_are() -> None:
    purse = Purse(2)
    walker = walker_at(Clock(), purse)
    first, second = frame(b"a" * 2_500, final=False), frame(b"a" * 600, 0)
    assert turns_of(walker, first + second) == [len(first)]
    assert (walker.is_limited, purse.paid) == (True, [2])
    purse.units = 1
    assert turns_of(walker, second) == [len(second)]
    assert purse.paid == [2, 1]


def test_one_message_is_excused_and_the_next_waits_again() -> None:
    purse = Purse(0)
    walker = walker_at(Clock(), purse)
    message = pieces(2, 1_500) + frame(b"", 0)
    assert walker.advance(bytearray(message)) == 0
    walker.excuse()
    assert turns_of(walker, message * 2) == [len(message)]
    assert (walker.is_paid, walker.is_limited, purse.paid) == (False, True, [])


def test_all_messages_of_a_stranger_together_are_short() -> None:
    walker = FrameWalker(MOST_BYTES, Clock())
    most = frame(b"a" * (STRANGER_BYTES // 4)) * 4
    assert sum(turns_of(walker, most)) == len(most)
    assert not walker.is_paid
    assert sum(turns_of(walker, frame(b"", PING) + frame(b""))) == 12
    refused = (1009, "Without a valid token all messages have at most 65536 bytes")
    assert refusal_of(walker, frame(b"a")) == refused
