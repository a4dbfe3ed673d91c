"""Positions that no list gave, sealed with the right key: refused by every list, or just a place.

The seal keeps clients from making positions. These tests show that a list does not depend on it.
"""

import re
from collections.abc import Iterable
from random import Random
from typing import Any
from unittest.mock import patch

import pytest

from penstock.resolvers.cursors import Cursors
from tests.schema.test_connections import LISTS, listed_store, read_list, read_page
from tests.support.graphql_client import CURSORS, Ask

__all__ = ["listed_store"]

WAYS = ("behind", "before")
UUID = "0192f0c1-7b7e-7000-8000-000000000001"
PIECES = ("", "0", "-1", "7" * 12, "1_0", "\u0663", "a", "Z", "%", "%41", "#", "\n", "\U0010ffff")
FORGED = (
    *PIECES,
    ":",
    "::::::::",
    UUID,
    UUID.upper(),
    f"{UUID}:{UUID}",
    "9" * 3_000,
    "a" * 1_025,
    "\U0010ffff" * 700,
)


@pytest.fixture(scope="module")
async def first_positions(listed_store: Ask) -> dict[str, tuple[str, str]]:
    """Return the identity and the first position of every list, as its first cursor seals them."""
    made: list[tuple[str, str]] = []
    seal = Cursors.seal

    def record(cursors: Cursors, identity: str, position: str) -> str:
        made.append((identity, position))
        return seal(cursors, identity, position)

    found = {}
    with patch.object(Cursors, "seal", record):
        for name in LISTS:
            made.clear()
            await read_page(listed_store, name, first=1)
            found[name] = made[0]
    return found


SHAPES = (
    (re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}"), "U"),
    (re.compile(r"[0-9]+"), "0"),
    (re.compile(r"(?!U\b)[^\W\d_]+"), "a"),
)


def shape_of(position: str) -> str:
    """Return a position without the content of its identities, numbers and words."""
    for pattern, name in SHAPES:
        position = pattern.sub(name, position)
    return position


@pytest.fixture(scope="module")
def foreign_positions(first_positions: dict[str, tuple[str, str]]) -> list[str]:
    """Return one position of each shape that the positions of all lists have."""
    return sorted({shape_of(own): own for _, own in sorted(first_positions.values())}.values())


async def codes_of(
    ask: Ask, name: str, identity: str, position: str, ways: Iterable[str] = WAYS
) -> set[str]:
    """Return the codes of the errors of the pages behind and before a position."""
    cursor = CURSORS.seal(identity, position)
    pages: dict[str, dict[str, Any]] = {
        "behind": {"first": 2, "after": cursor},
        "before": {"last": 2, "before": cursor},
    }
    answers = [await read_list(ask, name, **pages[way]) for way in ways]
    return {error["extensions"]["code"] for answer in answers for error in answer.errors}


@pytest.mark.thorough
@pytest.mark.parametrize("name", LISTS)
async def test_a_sealed_position_of_any_content_is_a_place_or_a_bad_argument(
    name: str,
    listed_store: Ask,
    first_positions: dict[str, tuple[str, str]],
    foreign_positions: list[str],
) -> None:
    identity, own = first_positions[name]
    cut = (own[:-1], own[1:], own * 2, own + ":", own + "\x00", own.swapcase())
    for position in (*FORGED, *cut):
        codes = await codes_of(listed_store, name, identity, position)
        assert codes <= {"BAD_USER_INPUT"}, position
    # Each list is given others, and each of them in one way.
    chance = Random(name)
    drawn = [":".join(chance.choices(PIECES, k=chance.randint(2, 8))) for _ in range(3)]
    for position in (*foreign_positions, *drawn):
        codes = await codes_of(listed_store, name, identity, position, [chance.choice(WAYS)])
        assert codes <= {"BAD_USER_INPUT"}, position


NUMBERED = ("versions", "versions of a calculation", "versions of a dataset", "history", "timeline")


@pytest.mark.parametrize("name", NUMBERED)
async def test_a_list_by_numbers_refuses_every_other_position(
    name: str, listed_store: Ask, first_positions: dict[str, tuple[str, str]]
) -> None:
    for position in ("", "a", "-1", "1_0", "\u0663", " 1", "1.0", "9" * 11):
        codes = await codes_of(listed_store, name, first_positions[name][0], position)
        assert codes == {"BAD_USER_INPUT"}, position
