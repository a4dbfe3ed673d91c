"""Positions of entities: the latest point of each, inside an area.

There is no index of positions: it would cost writes for each sample of a moving entity. A page
examines entities of its service path in the order of their ids, MAX_EXAMINED at most.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from math import asin, cos, radians, sin, sqrt
from typing import Any, Final, NamedTuple

import msgspec

from penstock.datastore.errors import BadArgument, PenstockError
from penstock.datastore.ngsi.directory import Attribute, Directory, Entity, ServicePath
from penstock.datastore.ngsi.reading.latest import LatestReader
from penstock.datastore.ngsi.reading.series import Sample
from penstock.datastore.table.pages import Slice, Window
from penstock.datastore.unreadable_json import JSON_ERRORS

MAX_EXAMINED: Final = 200
"""The entities that a page examines at most; with fewer matches it ends early."""

EXAMINED_TOGETHER: Final = 50
EARTH_METERS: Final = 6_371_008.8
MAX_METERS: Final = 20_100_000
"""More than half of the way around the Earth."""

MAX_POINT_TEXT: Final = 4_000
"""The longest text that is read as a point."""

MAX_LATITUDE: Final = 90
MAX_LONGITUDE: Final = 180

_DEGREES = r"\s*(-?\d{1,3}(?:\.\d{1,30})?)\s*"
_PAIR = re.compile(f'"?{_DEGREES},{_DEGREES}"?', re.ASCII)


class Point(NamedTuple):
    """A place on the Earth, in degrees."""

    latitude: float
    longitude: float

    @property
    def is_valid(self) -> bool:
        # No number is too long for this, and none that is not finite passes.
        return abs(self.latitude) <= MAX_LATITUDE and abs(self.longitude) <= MAX_LONGITUDE


class Circle(NamedTuple):
    """The places at most so many meters from a point."""

    center: Point
    meters: float


class Box(NamedTuple):
    """The places between two meridians and two parallels; `west` may be east of `east`."""

    south: float
    west: float
    north: float
    east: float

    def contains(self, point: Point) -> bool:
        if not self.south <= point.latitude <= self.north:
            return False
        if self.west <= self.east:
            return self.west <= point.longitude <= self.east
        return point.longitude >= self.west or point.longitude <= self.east


class Position(msgspec.Struct, frozen=True):
    """The latest point of an entity; `meters` is its distance from the center of a circle."""

    entity: Entity
    latitude: float
    longitude: float
    time: str
    meters: float | None = None


class Area(NamedTuple):
    """The entities that are wanted: of one type or any, inside a circle, a box, or both."""

    attribute: str
    type: str | None = None
    near: Circle | None = None
    within: Box | None = None

    def check(self) -> None:
        """Raise BadArgument for what is no area."""
        if self.near is not None:
            if not self.near.center.is_valid:
                raise BadArgument("`near` is no place on the Earth.", ("near",))
            if not 0 < self.near.meters <= MAX_METERS:
                raise BadArgument(f"`meters` is more than 0, up to {MAX_METERS}.", ("near",))
        if self.within is not None:
            south, west, north, east = self.within
            corners = (Point(south, west), Point(north, east))
            if south > north or not all(corner.is_valid for corner in corners):
                raise BadArgument("`within` is no box on the Earth.", ("within",))

    def position(self, of: Entity, sample: Sample | None) -> Position | None:
        """The position of an entity by its latest sample; None outside the area, or without."""
        point = None if sample is None else read_point(sample.text)
        if sample is None or point is None:
            return None
        meters = None if self.near is None else distance(self.near.center, point)
        if self.near is not None and meters is not None and meters > self.near.meters:
            return None
        if self.within is not None and not self.within.contains(point):
            return None
        return Position(of, point.latitude, point.longitude, sample.time, meters)


@dataclass(frozen=True, slots=True)
class PositionReader:
    """Reads positions of the entities of service paths that the caller may see."""

    directory: Directory
    latest: LatestReader

    async def page(self, of: ServicePath, area: Area, window: Window) -> Slice[Position]:
        """List positions in the order of the entities' ids, as they are examined.

        For each EXAMINED_TOGETHER entities one query of `pk = NE:<service>:<path>`, a batch of
        gets of their attributes, and their latest samples.
        """
        found: list[tuple[str, Position]] = []
        after, examined = window.after, 0
        while True:
            step = Window(size=EXAMINED_TOGETHER, after=after, backward=window.backward)
            listed = await self.directory.entities(of, step, type=area.type)
            entries = listed.entries[::-1] if window.backward else listed.entries
            positions = await self._positions([entity for _, entity in entries], area)
            found += [
                (place, position)
                for (place, _), position in zip(entries, positions, strict=True)
                if position is not None
            ]
            examined += len(entries)
            after = listed.reached
            full = len(found) > window.size
            if full or not listed.more or examined >= MAX_EXAMINED:
                kept = found[: window.size]
                ended = full or not listed.more
                reached = kept[-1][0] if kept and ended else after
                ordered = kept[::-1] if window.backward else kept
                return Slice(tuple(ordered), full or listed.more, reached)

    async def _positions(self, entities: Sequence[Entity], area: Area) -> list[Position | None]:
        wanted = [(entity, area.attribute) for entity in entities]
        attributes = await self.directory.named_attributes(wanted) if wanted else []
        known = [each for each in attributes if isinstance(each, Attribute)]
        samples: dict[Entity, Sample] = {}
        for of, sample in zip(known, await self.latest.many(known), strict=True):
            if isinstance(sample, PenstockError):
                raise sample
            if sample is not None:
                samples[of.entity] = sample
        return [area.position(entity, samples.get(entity)) for entity in entities]


def read_point(text: str | None) -> Point | None:
    """Read the point of a value: `latitude, longitude`, or a Point of GeoJSON; None for others."""
    if text is None or len(text) > MAX_POINT_TEXT:
        return None
    if (pair := _PAIR.fullmatch(text)) is not None:
        found = Point(float(pair[1]), float(pair[2]))
        return found if found.is_valid else None
    return _read_geo_json(text) if text.startswith("{") else None


def _read_geo_json(text: str) -> Point | None:
    try:
        value: Any = msgspec.json.decode(text)
    except JSON_ERRORS:
        return None
    coordinates = value.get("coordinates") if value.get("type") == "Point" else None
    match coordinates:
        case [int() | float() as longitude, int() | float() as latitude, *_]:
            found = Point(latitude, longitude)
            return Point(*map(float, found)) if found.is_valid else None
    return None


def distance(one: Point, other: Point) -> float:
    """The meters between two points along the surface (haversine, on a sphere)."""
    south, north = radians(one.latitude), radians(other.latitude)
    half = sin((north - south) / 2) ** 2
    half += cos(south) * cos(north) * sin(radians(other.longitude - one.longitude) / 2) ** 2
    return 2 * EARTH_METERS * asin(min(1.0, sqrt(half)))
