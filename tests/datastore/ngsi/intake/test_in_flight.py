"""The limit of what a sink holds: in all, and for each service."""

import pytest

from penstock.datastore.errors import Unavailable
from penstock.datastore.ngsi.intake.in_flight import NOTHING, EventAmount, InFlightLimit

ONE = EventAmount(1, 10)


def has_room(limit: InFlightLimit, service: str) -> bool:
    """Add an event of the service if there is room for it."""
    held = limit.held
    try:
        limit.acquire(service, ONE)
    except Unavailable:
        assert limit.held == held
        return False
    return True


def fill(limit: InFlightLimit, service: str) -> int:
    """Add one event after the other, until the service is refused; return their number."""
    count = 0
    while has_room(limit, service):
        count += 1
    return count


@pytest.mark.parametrize(
    "limit", [InFlightLimit(80), InFlightLimit(10**6, 800)], ids=["events", "bytes"]
)
def test_a_service_holds_as_much_as_is_free_so_that_others_find_room(limit: InFlightLimit) -> None:
    assert [fill(limit, service) for service in "abcdef"] == [40, 20, 10, 5, 3, 1]
    assert fill(limit, "a") == 0
    for _ in range(40):
        limit.release("a", ONE)
    assert fill(limit, "a") > 0


def test_the_smallest_sink_holds_something() -> None:
    limit = InFlightLimit(1)
    assert fill(limit, "a") == 1
    assert fill(limit, "b") == 0


def test_what_is_set_aside_takes_room_but_not_from_its_service() -> None:
    limit = InFlightLimit(80)
    assert fill(limit, "a") == 40
    limit.set_aside("a", EventAmount(40, 400))
    assert limit.held.events == 40
    assert fill(limit, "a") == 20
    limit.set_aside("a", EventAmount(-40, -400))
    assert limit.moving.of("a").events == 60
    limit.release("a", EventAmount(60, 600))
    assert (limit.held, len(limit.moving)) == (NOTHING, 0)
