"""Entities of NGSI, their attributes and samples: types."""

from decimal import Decimal
from typing import Annotated

import strawberry
from strawberry import UNSET

from penstock.datastore.ngsi import directory
from penstock.datastore.ngsi import series as aggregates
from penstock.datastore.ngsi.series import Method, Period, Sample
from penstock.resolvers import ngsi
from penstock.schema.core.context import After, Before, First, Info, Last, Order, given
from penstock.schema.core.relay import Connection, connect, page_of
from penstock.schema.core.scalars import DateTime
from penstock.schema.engine.cost import costs

AGGREGATE_COST = 50

From = Annotated[
    DateTime | None, strawberry.argument(name="from", description="The first instant, inclusive.")
]
To = Annotated[
    DateTime | None, strawberry.argument(name="to", description="The last instant, exclusive.")
]

strawberry.enum(Method, name="NgsiMethod", description="What is made of the samples of a period.")
strawberry.enum(Period, name="NgsiPeriod", description="A length of calendar time, in UTC.")


@strawberry.type(description="A value that was notified, at the time when it arrived.")
class NgsiSample:
    recv_time: DateTime = strawberry.field(description="When it arrived.")
    text: str | None = strawberry.field(
        description="The value as it is stored, numbers and objects as JSON; absent for null."
    )
    number: Decimal | None = strawberry.field(
        description="The number that the value is or says, exactly; absent for any other."
    )
    metadata: str = strawberry.field(
        description="The metadata as JSON: an array of `{name, type, value}`."
    )


@strawberry.type(description="What the samples of a period amount to.")
class NgsiBucket:
    start: DateTime = strawberry.field(description="When the period begins.")
    samples: int = strawberry.field(description="How many there are, numbers or not.")
    value: Decimal | None = strawberry.field(
        description="What the method makes of the numbers; absent where there are none to count."
    )


@strawberry.type(description="An attribute of an entity, and its values over time.")
class NgsiAttribute:
    name: str = strawberry.field(description="As notified.")
    type: str = strawberry.field(description="As notified last.")

    @strawberry.field(graphql_type=NgsiSample | None, description="The newest sample.")
    @staticmethod
    async def latest(
        attribute: strawberry.Parent[directory.Attribute], info: Info
    ) -> Sample | None:
        return await info.context.session.notified.series.latest(attribute)

    @strawberry.field(
        graphql_type=Connection[NgsiSample],
        description="The samples between two instants. The last n of them, oldest first: "
        "`last: n` with `OLDEST_FIRST`.",
    )
    @staticmethod
    async def series(
        attribute: strawberry.Parent[directory.Attribute],
        info: Info,
        start: From = UNSET,
        end: To = UNSET,
        order: Annotated[
            Order | None, strawberry.argument(description="By the time of arrival.")
        ] = Order.OLDEST_FIRST,
        first: First = UNSET,
        after: After = UNSET,
        last: Last = UNSET,
        before: Before = UNSET,
    ) -> Connection[Sample]:
        span, newest = ngsi.span_of(given(start), given(end)), order is Order.NEWEST_FIRST
        samples = info.context.session.notified.series
        return await connect(
            info,
            ("series", attribute.entity, attribute.name, span, newest),
            page_of(first, after, last, before),
            lambda window: samples.page(attribute, span, window, newest_first=newest),
        )

    @strawberry.field(
        graphql_type=list[NgsiBucket] | None,
        description="The samples between two instants by period, oldest first; at most 100,000 "
        "samples and 10,000 periods.",
        metadata=costs(AGGREGATE_COST),
    )
    @staticmethod
    async def aggregate(
        attribute: strawberry.Parent[directory.Attribute],
        info: Info,
        method: Annotated[Method, strawberry.argument(description="What to make of them.")],
        period: Annotated[Period, strawberry.argument(description="By which to group them.")],
        start: From = UNSET,
        end: To = UNSET,
        fill: Annotated[
            bool | None, strawberry.argument(description="Whether to show empty periods, too.")
        ] = False,
    ) -> list[aggregates.Bucket]:
        span = ngsi.span_of(given(start), given(end))
        return await ngsi.aggregate(info.context, attribute, span, method, period, fill=bool(fill))


@strawberry.type(description="An entity of a service path.")
class NgsiEntity:
    entity_id: str = strawberry.field(description="As notified.")
    entity_type: str = strawberry.field(description="As notified; empty where there was none.")

    @strawberry.field(
        graphql_type=Connection[NgsiAttribute],
        description="Every attribute that was ever notified of, in the order of their names.",
    )
    @staticmethod
    async def attributes(
        entity: strawberry.Parent[directory.Entity],
        info: Info,
        first: First = UNSET,
        after: After = UNSET,
        last: Last = UNSET,
        before: Before = UNSET,
    ) -> Connection[directory.Attribute]:
        return await connect(
            info,
            ("attributes", entity),
            page_of(first, after, last, before),
            lambda window: info.context.session.notified.directory.attributes(entity, window),
        )

    @strawberry.field(graphql_type=NgsiAttribute | None, description="One attribute.")
    @staticmethod
    async def attribute(
        entity: strawberry.Parent[directory.Entity],
        info: Info,
        name: Annotated[str, strawberry.argument(description="As notified.")],
    ) -> directory.Attribute | None:
        return await ngsi.attribute(info.context, entity, name)
