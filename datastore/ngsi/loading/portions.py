"""Portions of events: as many as are made into items while nobody else has the event loop."""

from collections.abc import Iterator, Sequence
from typing import Final

from penstock.datastore.ngsi.rows import Event

MOST_ATTRIBUTES: Final = 2_000
"""The attributes of a portion of several events; their rows take some 20 ms."""


def divide_events(events: Sequence[Event]) -> Iterator[Sequence[Event]]:
    """Divide events, in their order, into portions of up to MOST_ATTRIBUTES attributes."""
    first = attributes = 0
    for number, event in enumerate(events):
        size = max(1, len(event.update.attributes))
        if number > first and attributes + size > MOST_ATTRIBUTES:
            yield events[first:number]
            first, attributes = number, 0
        attributes += size
    if events:
        yield events[first:]
