"""A caller whose requests hold the event loop without a price owes for the time, over sockets."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.server.hostile.attacked_server import AttackedServer, open_attacked_server
from tests.server.hostile.hostile_request import HostileTalk
from tests.server.hostile.raw_connection import Conversation, Talk
from tests.server.hostile.stream_messages import frame, says
from tests.server.hostile.test_hostile_requests import open_conversation
from tests.support.patience import HUNG_SECONDS

ROUNDS, PINGS = 200, 1_000
LIMITS = {
    "PENSTOCK_RATE_LIMIT_PER_SECOND": "1",
    "PENSTOCK_RATE_LIMIT_BURST": "1000",
    "PENSTOCK_STREAM_MESSAGES_PER_SECOND": "1000000",
    "PENSTOCK_METRICS": "true",
}
PING = frame(says(type="ping").encode())
QUERY = {"query": "{ viewer { userId } }"}


@pytest.fixture
def limited(tmp_path: Path) -> Iterator[AttackedServer]:
    with open_attacked_server(tmp_path, LIMITS) as at:
        yield at


def ask(at: AttackedServer) -> dict[str, Any]:
    bearer = {"authorization": f"Bearer {at.token}"}
    url = f"{at.url}/graphql"
    answer: dict[str, Any] = httpx.post(
        url, json=QUERY, headers=bearer, timeout=HUNG_SECONDS
    ).json()
    return answer


def unpaid_units(at: AttackedServer) -> float:
    text = httpx.get(f"{at.url}/metrics", timeout=HUNG_SECONDS).text
    (found,) = re.findall(r"^penstock_unpaid_units_total ([0-9.e+]+)$", text, re.MULTILINE)
    return float(found)


def exchange_pings(conversation: Conversation) -> None:
    conversation.say(PING * PINGS)
    for _ in range(PINGS):
        assert json.loads(str(conversation.hear())) == {"type": "pong"}


def is_limited(at: AttackedServer) -> bool:
    return "RATE_LIMITED" in json.dumps(ask(at))


def test_a_flood_of_free_messages_is_owed_and_ends_what_the_caller_may_do(
    limited: AttackedServer,
) -> None:
    assert not is_limited(limited)
    with Talk(limited.url) as talk:
        conversation = open_conversation(talk, HostileTalk(name="pings", messages=()), limited)
        ended = False
        for _ in range(ROUNDS):
            exchange_pings(conversation)
            ended = is_limited(limited)
            if ended:
                break
    assert ended
    assert unpaid_units(limited) > 0
