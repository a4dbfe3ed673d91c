"""The times from which versions are active, where these are not those of their creation.

The version that is active at a time is the one with the latest start that is not after it; of
several with the same start, the newest. The latest row of a resource has the starts of all versions
that name one, so that no search is needed among them; the others are in the order of their times.
"""

from collections.abc import Mapping
from typing import Any, Final, TypeVar

from msgspec.structs import replace

from penstock.datastore.errors import LimitExceeded
from penstock.datastore.records import Resource, VersionDate

R = TypeVar("R", bound=Resource)

FIELD: Final = "active_from"
MAX_DATES: Final = 100
"""The different starts that the versions of a resource may name."""


def with_start(before: R | None, made: R, given: Mapping[str, Any]) -> R:
    """The new version with the start that it was given, or that follows from the one before.

    A change of a version that is not active yet is not active before it either. Raises
    LimitExceeded for too many different starts.
    """
    start = given[FIELD] if FIELD in given else _waiting_start(before, made)
    if start is None:
        return replace(made, active_from=None, undated=0)
    dates = [one for one in made.dates if one.start != start]
    dates.append(VersionDate(start=start, version=made.version))
    if len(dates) > MAX_DATES:
        limit = "times from which versions are active"
        raise LimitExceeded(limit, MAX_DATES, len(dates), ("activeFrom",))
    return replace(made, active_from=start, undated=_last_undated(before), dates=tuple(dates))


def find_dated(of: Resource, at: str) -> VersionDate | None:
    """The version that is active at a time, of those that name a start; None if none is."""
    begun = [one for one in of.dates if one.start <= at]
    return max(begun, key=lambda one: (one.start, one.version), default=None)


def active_since(version: Resource) -> str:
    """The time from which a version is active."""
    return version.active_from or version.updated_at


def _waiting_start(before: Resource | None, made: Resource) -> str | None:
    """The start of the version before, if it is still to come."""
    if before is None or before.active_from is None or before.active_from <= made.updated_at:
        return None
    return before.active_from


def _last_undated(before: Resource | None) -> int:
    if before is None:
        return 0
    return before.version if before.active_from is None else before.undated
