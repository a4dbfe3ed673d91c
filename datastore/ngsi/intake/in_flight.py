"""The events that a process holds and has not stored yet, by service, and their limits.

A service is a tenant. However much one of them sends, there is room for the next one.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from penstock.datastore.errors import Unavailable

MAX_BYTES: Final = 64 * 1024 * 1024
RETRY_SECONDS: Final = 5


@dataclass(frozen=True, slots=True)
class EventAmount:
    """A number of events, and the bytes in which they arrived."""

    events: int = 0
    size: int = 0

    def __add__(self, other: "EventAmount") -> "EventAmount":
        return EventAmount(self.events + other.events, self.size + other.size)

    @property
    def negated(self) -> "EventAmount":
        """The amount that takes this one away when it is added."""
        return EventAmount(-self.events, -self.size)


class SinkBacklog(NamedTuple):
    """The events that a sink has not stored yet, and the destinations that cannot be written."""

    events: int
    size: int
    troubled_destinations: int


NOTHING: Final = EventAmount()


class ServiceAmounts:
    """An amount of events for each service that has any."""

    __slots__ = ("_by_service",)

    def __init__(self) -> None:
        self._by_service: dict[str, EventAmount] = {}

    def __len__(self) -> int:
        return len(self._by_service)

    def __iter__(self) -> Iterator[tuple[str, EventAmount]]:
        return iter(self._by_service.items())

    def of(self, service: str) -> EventAmount:
        return self._by_service.get(service, NOTHING)

    def add(self, service: str, load: EventAmount) -> None:
        changed = self.of(service) + load
        if changed == NOTHING:
            self._by_service.pop(service, None)
        else:
            self._by_service[service] = changed


@dataclass(slots=True)
class InFlightLimit:
    """The events that this process holds and has not stored yet, and their limit.

    A service may hold as much as is free: one alone holds a half, a second one a quarter, and so
    on. What waits for a failing destination is set aside: it has a bound of its own, and does not
    keep its service from storing elsewhere.
    """

    max_events: int
    max_bytes: int = MAX_BYTES
    held: EventAmount = NOTHING
    moving: ServiceAmounts = field(default_factory=ServiceAmounts)

    @property
    def is_full(self) -> bool:
        return self.held.events >= self.max_events or self.held.size >= self.max_bytes

    def acquire(self, service: str, load: EventAmount) -> None:
        """Add an amount; raises Unavailable and adds nothing if a limit is reached."""
        if self.is_full:
            raise Unavailable("Too much is waiting to be stored.", RETRY_SECONDS)
        if self._has_its_share(service):
            message = f"Too much of the service {service} is waiting to be stored."
            raise Unavailable(message, RETRY_SECONDS)
        self.add(service, load)

    def add(self, service: str, load: EventAmount) -> None:
        """Add an amount, even beyond the limit."""
        self.held += load
        self.moving.add(service, load)

    def release(self, service: str, load: EventAmount) -> None:
        """Subtract an amount."""
        self.add(service, load.negated)

    def set_aside(self, service: str, load: EventAmount) -> None:
        """Count an amount that is held no longer for its service; a negated one, for it again."""
        self.moving.add(service, load.negated)

    def _has_its_share(self, service: str) -> bool:
        """Whether the service holds as much as is free."""
        own = self.moving.of(service)
        free = EventAmount(self.max_events, self.max_bytes) + self.held.negated
        return own.events >= max(free.events, 1) or own.size >= free.size
