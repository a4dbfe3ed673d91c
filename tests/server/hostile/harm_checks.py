"""The checks after each attack: a good request is served, nothing leaks, the loop goes on."""

import json
import re
import time
from collections.abc import Callable
from itertools import count

from tests.server.hostile.attacked_server import OWN, SECRET, AttackedServer
from tests.server.hostile.hostile_request import MARK, Offence
from tests.server.hostile.raw_connection import Talk

MOST_YARDSTICKS = 20.0
"""Bound of the longest pause: some 200 ms on a machine whose yardstick takes 10 ms.

A turn that frees a large answer waits for memory, the yardstick does not: beside other work on the
same processor, the same turn may count as three times as many yardsticks.
"""
TRIES = 8
LEAKS = re.compile(
    rb"Traceback|File \"|\.py\b|site-packages|/usr/|/home/|/root/"
    rb"|\b(?!(?:User|last|Evaluation)Error\b)\w+Error\b|\w+Exception\b|0x[0-9a-f]{6}"
    rb"|(?i:sqlite|uvicorn|starlette|graphql-core)"
    rb'|"code":"INTERNAL_SERVER_ERROR"'
)
GOOD = Offence(name="good", body=b'{"query":"{viewer{userId}}"}', status=200, says='"me"')

_marks = count()
_shortest_yardsticks: dict[str, float] = {}
"""The shortest yardstick of each server so far, in milliseconds, by its URL."""


def write_offence(offence: Offence, at: AttackedServer) -> bytes:
    return offence.request(at.host, at.token, {**at.meant, MARK: f"{next(_marks)}"})


def assert_good_request_is_served(talk: Talk, at: AttackedServer) -> None:
    talk.say(write_offence(GOOD, at))
    reply = talk.reply()
    assert (reply.status, reply.json) == (200, {"data": {"viewer": {"userId": "me"}}})


def assert_nothing_leaks(heard: bytes, at: AttackedServer) -> None:
    assert LEAKS.findall(heard) == []
    hidden = (SECRET, OWN, *at.secrets)
    assert [text for text in hidden if text.encode() in heard] == []


def longest_pause(at: AttackedServer) -> float:
    """Return the longest pause of the watched loop, in yardsticks.

    A yardstick takes longer than most attacks. So the shortest one so far counts, and it is
    measured again only for a pause that is too long for that: perhaps the machine is slower now.
    """
    pause: float = json.loads(_ask_monitor(at, "/longest"))
    if at.url not in _shortest_yardsticks:
        _shortest_yardsticks[at.url] = min(_measure_yardstick(at) for _ in range(3))
    shortest = _shortest_yardsticks[at.url]
    if pause <= MOST_YARDSTICKS * shortest:
        return pause / shortest
    yardstick = _measure_yardstick(at)
    _shortest_yardsticks[at.url] = min(shortest, yardstick)
    return pause / yardstick


def _measure_yardstick(at: AttackedServer) -> float:
    yardstick: float = json.loads(_ask_monitor(at, "/yardstick"))
    return yardstick


def _ask_monitor(at: AttackedServer, path: str) -> bytes:
    with Talk(at.url) as talk:
        talk.say(f"GET {path} HTTP/1.1\r\nhost: {at.host}\r\n\r\n".encode())
        reply = talk.reply()
        assert reply.status == 200
        return reply.body


def assert_loop_goes_on(at: AttackedServer, attack: Callable[[], None]) -> None:
    """Repeat the attack until the loop was not blocked.

    One pause may come from garbage collection or from other work of the loop.
    """
    pauses = []
    for tried in range(TRIES):
        time.sleep(tried * 0.05)
        _ask_monitor(at, "/watch")
        attack()
        pauses.append(longest_pause(at))
        if pauses[-1] <= MOST_YARDSTICKS:
            return
    raise AssertionError(f"the loop stood still for {min(pauses):.1f} yardsticks")
