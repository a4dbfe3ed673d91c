"""Times and ids in the form in which the table stores them."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime

import uuid_utils


def iso_timestamp(moment: datetime) -> str:
    """Format a time as ISO 8601 in UTC with milliseconds: `2022-08-10T23:55:20.322Z`."""
    return moment.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def wall_clock() -> datetime:
    return datetime.now(UTC)


def uuid7() -> str:
    """A UUIDv7 in canonical text; the order of the texts is the order of creation."""
    return str(uuid_utils.uuid7())


@dataclass(frozen=True, slots=True)
class Clock:
    """The source of times and ids; tests replace it."""

    now: Callable[[], datetime] = wall_clock
    new_id: Callable[[], str] = uuid7

    def timestamp(self) -> str:
        return iso_timestamp(self.now())
