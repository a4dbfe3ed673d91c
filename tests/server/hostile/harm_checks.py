"""The checks after each attack: a good request is served, nothing leaks, the loop goes on."""

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
    """Return the longest pause of the loop since the last request, in yardsticks."""
    with Talk(at.url) as talk:
        talk.say(f"GET /longest HTTP/1.1\r\nhost: {at.host}\r\n\r\n".encode())
        answer = talk.reply().json
        ratio: float = answer["pause"] / answer["yardstick"]
        return ratio


def assert_loop_goes_on(at: AttackedServer, attack: Callable[[], None]) -> None:
    """Repeat the attack until the loop was not blocked.

    One pause may come from garbage collection or from other work of the loop.
    """
    pauses = []
    for tried in range(TRIES):
        time.sleep(tried * 0.05)
        longest_pause(at)
        attack()
        pauses.append(longest_pause(at))
        if pauses[-1] <= MOST_YARDSTICKS:
            return
    raise AssertionError(f"the loop stood still for {min(pauses):.1f} yardsticks")
