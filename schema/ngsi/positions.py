"""The types of positions of NGSI entities, and the areas that they are looked for in."""

import strawberry

from penstock.datastore.ngsi import directory
from penstock.datastore.ngsi.reading.positions import Box, Circle, Point
from penstock.schema.core.scalars import DateTime
from penstock.schema.ngsi.entities import NgsiEntity


@strawberry.input(description="A circle on the Earth.")
class NgsiCircleInput:
    latitude: float = strawberry.field(description="The latitude of the center, -90 to 90.")
    longitude: float = strawberry.field(description="The longitude of the center, -180 to 180.")
    meters: float = strawberry.field(description="The radius, more than 0, up to 20,100,000.")

    def read(self) -> Circle:
        return Circle(Point(self.latitude, self.longitude), self.meters)


@strawberry.input(
    description="The places between two parallels and two meridians. A box across the "
    "antimeridian has a `west` that is larger than its `east`."
)
class NgsiBoxInput:
    south: float = strawberry.field(description="The smallest latitude, -90 to 90.")
    west: float = strawberry.field(description="The western longitude, -180 to 180.")
    north: float = strawberry.field(description="The largest latitude, -90 to 90.")
    east: float = strawberry.field(description="The eastern longitude, -180 to 180.")

    def read(self) -> Box:
        return Box(self.south, self.west, self.north, self.east)


@strawberry.type(description="The latest position of an entity.")
class NgsiPosition:
    entity: directory.Entity = strawberry.field(
        graphql_type=NgsiEntity, description="The entity that was there."
    )
    latitude: float = strawberry.field(description="The latitude, in degrees.")
    longitude: float = strawberry.field(description="The longitude, in degrees.")
    time: DateTime = strawberry.field(description="The time of the event, in UTC.")
    meters: float | None = strawberry.field(
        description="The distance from the center of `near`; null without `near`."
    )
