"""The places for transfers of files: who gives way when all are taken."""

from contextlib import ExitStack

import pytest

from penstock.server.connections.file_transfers import (
    GRACE_SECONDS,
    LEAST_BYTES_PER_SECOND,
    FileTransfers,
    TooManyTransfers,
    Transfer,
)


class Hall:
    """Four places and a clock that stands; `ended` are the names of the transfers that ended."""

    def __init__(self, held: ExitStack) -> None:
        self.now = 100.0
        self.ended: list[str] = []
        self.transfers = FileTransfers(4, lambda: self.now)
        self._held = held

    def begin(self, site: str, name: str = "") -> Transfer:
        return self._held.enter_context(self.transfers.begin(site, lambda: self.ended.append(name)))


def test_a_client_without_transfers_takes_the_slowest_place_of_the_largest_crowd() -> None:
    with ExitStack() as held:
        hall = Hall(held)
        for name, size in (("a", 9_000_000), ("b", 10), ("c", 9_000_000)):
            hall.begin("crowd", name).size = size
        hall.begin("other", "d").size = 5
        hall.now += 1
        hall.begin("new", "e")
        assert hall.ended == ["b"]


def test_a_transfer_of_the_same_site_takes_no_place_of_one_that_goes_on() -> None:
    with ExitStack() as held:
        hall = Hall(held)
        begun = [hall.begin("crowd", name) for name in "abcd"]
        for each in begun:
            each.size = int(LEAST_BYTES_PER_SECOND * GRACE_SECONDS)
        hall.now += GRACE_SECONDS
        with pytest.raises(TooManyTransfers):
            hall.begin("crowd", "e")
        assert hall.ended == []


def test_a_transfer_that_nearly_stands_still_gives_way_to_any_client_after_its_grace() -> None:
    with ExitStack() as held:
        hall = Hall(held)
        for name in "abcd":
            hall.begin("crowd", name).size = 100 * ord(name)
        hall.now += GRACE_SECONDS - 0.1
        with pytest.raises(TooManyTransfers):
            hall.begin("crowd", "e")
        hall.now += 0.2
        hall.begin("crowd", "e")
        assert hall.ended == ["a"]


def test_sites_with_as_many_transfers_do_not_take_places_from_each_other() -> None:
    with ExitStack() as held:
        hall = Hall(held)
        for site in ("one", "one", "two", "two"):
            hall.begin(site)
        for site in ("one", "two", "three"):
            if site == "three":
                hall.begin(site, "third")
            else:
                with pytest.raises(TooManyTransfers):
                    hall.begin(site)
        assert len(hall.ended) == 1


def test_the_descriptors_of_ended_transfers_are_bounded() -> None:
    with ExitStack() as held:
        hall = Hall(held)
        for _ in range(4):
            hall.begin("crowd")
        for number in range(8):
            hall.now += 2 * GRACE_SECONDS
            hall.begin(f"site {number}")
        assert len(hall.ended) == 8
        with pytest.raises(TooManyTransfers):
            hall.begin("late")
        assert len(hall.ended) == 8


def test_a_place_is_free_when_its_transfer_is_over() -> None:
    with ExitStack() as held:
        hall = Hall(held)
        for _ in range(3):
            hall.begin("crowd")
        for _ in range(5):
            with hall.transfers.begin("crowd", lambda: None):
                pass
        assert hall.ended == []
