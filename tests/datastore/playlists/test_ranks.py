"""Ranks keep the order of a list under any edits, at any length, with concurrent writers."""

from itertools import pairwise
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.datastore.playlists.ranks import (
    DIGITS,
    LONGEST,
    NEIGHBOURHOOD,
    RESPREAD_LONGEST,
    WIDTH,
    crowded_range,
    new_ranks,
    spread_ranks,
)

seeds = st.integers(0, 2**32).map(Random)


def in_order(ranks: list[str]) -> bool:
    """Whether ranks ascend strictly, by bytes as the table compares them."""
    return all(low.encode() < high.encode() for low, high in pairwise(ranks))


def insert(ranks: list[str], at: int, count: int, chance: Random) -> None:
    """Make room before the position if there is none, and insert `count` ranks there."""
    for n, rank in spread_ranks(ranks, crowded_range(ranks, at, count), chance):
        ranks[n] = rank
    assert not crowded_range(ranks, at, count)
    low = ranks[at - 1] if at else None
    high = ranks[at] if at < len(ranks) else None
    ranks[at:at] = new_ranks(low, high, count, chance)


def test_the_first_rank_lies_in_the_middle() -> None:
    (only,) = new_ranks(None, None)
    assert len(only) == WIDTH
    assert only[0] in DIGITS[25:27]


def test_ranks_are_texts_of_digits_in_the_order_of_their_bytes() -> None:
    ranks = new_ranks(None, None, 10_000)
    assert in_order(list(ranks))
    assert {len(rank) for rank in ranks} == {WIDTH}
    assert set("".join(ranks)) <= set(DIGITS)


@given(seeds, st.integers(1, 98))
def test_a_block_lies_between_its_neighbours(chance: Random, count: int) -> None:
    low, high = new_ranks(None, None, 2, chance)
    block = new_ranks(low, high, count, chance)
    assert len(block) == count
    assert in_order([low, *block, high])


@pytest.mark.parametrize("seed", range(4))
def test_order_is_kept_in_thousands_of_random_edits(seed: int) -> None:
    chance = Random(seed)
    ranks = list(new_ranks(None, None, 500, chance))
    for _ in range(2_000):
        ranks.pop(chance.randrange(len(ranks)))
        at = chance.randrange(len(ranks) + 1)
        insert(ranks, at, 1, chance)
        assert in_order(ranks[max(at - 2, 0) : at + 2])
    assert in_order(ranks)
    assert max(map(len, ranks)) <= 12


def test_twenty_thousand_appends_stay_short() -> None:
    last: str | None = None
    for _ in range(20_000):
        (new,) = new_ranks(last, None)
        assert last is None or last < new
        last = new
    assert last is not None
    assert len(last) == WIDTH


def test_prepending_stays_short_too() -> None:
    first: str | None = None
    for _ in range(10_000):
        (new,) = new_ranks(None, first)
        assert first is None or new < first
        first = new
    assert first is not None
    assert len(first) == WIDTH


@pytest.mark.parametrize("end", ["low", "high"])
def test_there_is_room_behind_the_very_last_place(end: str) -> None:
    bound = "A" * WIDTH + "B" if end == "low" else "z" * WIDTH
    ranks = new_ranks(None, bound, 3) if end == "low" else new_ranks(bound, None, 3)
    assert in_order([*ranks, bound] if end == "low" else [bound, *ranks])


@pytest.mark.parametrize("spot", [0.0, 0.5, 1.0])
def test_at_one_spot_a_rank_grows_by_a_digit_in_five_and_never_beyond_the_longest(
    spot: float,
) -> None:
    chance, lengths = Random(7), []
    ranks = list(new_ranks(None, None, 40, chance))
    low, high = ranks[19], ranks[20]
    for _ in range(600):
        at = ranks.index(low) + 1 if spot == 0.0 else ranks.index(high)
        if spot == 0.5:
            at = (ranks.index(low) + 1 + at) // 2
        held = low, high
        before = list(ranks)
        insert(ranks, at, 1, chance)
        moved = dict(zip(before, ranks[:at] + ranks[at + 1 :], strict=True))
        low, high = moved[held[0]], moved[held[1]]
        lengths.append(max(map(len, ranks)))
    assert in_order(ranks)
    assert max(lengths) <= LONGEST
    assert lengths[99] <= WIDTH + 100 // 5 + 3


@given(seeds, st.lists(st.text(DIGITS, max_size=6), min_size=2, max_size=9))
def test_ranks_in_keys_sort_as_they_do_alone(chance: Random, ends: list[str]) -> None:
    ranks = [f"{'M' * WIDTH}{end}" for end in ends]
    keys = sorted((f"PLI:{rank}:{chance.random()}", rank) for rank in ranks)
    assert [rank for _, rank in keys] == sorted(ranks)


def test_two_writers_at_one_gap_rarely_take_the_same_and_never_the_wrong_side() -> None:
    low, high = new_ranks(None, None, 2, Random(1))
    mine = [new_ranks(low, high, chance=Random(seed))[0] for seed in range(1_000)]
    theirs = [new_ranks(low, high, chance=Random(seed + 1_000))[0] for seed in range(1_000)]
    assert all(low < rank < high for rank in (*mine, *theirs))
    assert sum(a == b for a, b in zip(mine, theirs, strict=True)) <= 3


def test_nothing_fits_between_equal_ranks() -> None:
    (rank,) = new_ranks(None, None)
    with pytest.raises(ValueError, match="is not below"):
        new_ranks(rank, rank)


@given(seeds, st.integers(2, 30), st.integers(0, 40), st.integers(0, 40), st.data())
def test_equal_ranks_are_told_apart_and_the_list_keeps_its_order(
    chance: Random, same: int, before: int, behind: int, data: Any
) -> None:
    distinct = list(new_ranks(None, None, before + 1 + behind, chance))
    ranks = [*distinct[:before], *[distinct[before]] * same, *distinct[before + 1 :]]
    at = before + data.draw(st.integers(1, same - 1))
    crowded = crowded_range(ranks, at, 1)
    assert at - 1 in crowded
    assert at in crowded
    for n, rank in spread_ranks(ranks, crowded, chance):
        ranks[n] = rank
        assert ranks == sorted(ranks)
    assert in_order(ranks[crowded.start : crowded.stop])
    assert not crowded_range(ranks, at, 98)


@given(seeds, st.lists(st.text(DIGITS, min_size=1, max_size=80), min_size=2, max_size=90))
def test_spreading_keeps_the_order_after_every_change(chance: Random, texts: list[str]) -> None:
    ranks = sorted(text.rjust(WIDTH, "M").rstrip("A") + "B" for text in texts)
    at = chance.randrange(len(ranks) + 1)
    crowded = crowded_range(ranks, at, 1)
    for n, rank in spread_ranks(ranks, crowded, chance):
        ranks[n] = rank
        assert ranks == sorted(ranks)
    spread_out = ranks[crowded.start : crowded.stop]
    assert in_order(spread_out)
    assert all(len(rank) <= RESPREAD_LONGEST for rank in spread_out)


def test_no_more_is_spread_than_the_neighbourhood() -> None:
    chance = Random(3)
    ranks = list(new_ranks(None, None, 200, chance))
    for _ in range(400):
        if crowded_range(ranks, 100, 1):
            break
        ranks[100:100] = new_ranks(ranks[99], ranks[100], 1, chance)
    crowded = crowded_range(ranks, 100, 1)
    assert 2 * NEIGHBOURHOOD <= len(crowded) <= 8 * NEIGHBOURHOOD
