"""The types of NGSI entities, their attributes, samples and aggregates."""

from decimal import Decimal
from typing import Annotated

import strawberry
from strawberry import UNSET

from penstock.datastore.ngsi import directory
from penstock.datastore.ngsi.reading import aggregates as aggregate_records
from penstock.datastore.ngsi.reading.aggregates import Method, Period
from penstock.datastore.ngsi.reading.series import Sample
from penstock.resolvers import ngsi
from penstock.schema.core.context import After, Before, First, Info, Last, Order, unset_to_none
from penstock.schema.core.descriptions import describe_values
from penstock.schema.core.relay import Connection, page_from_arguments, read_connection
from penstock.schema.core.scalars import DateTime
from penstock.schema.engine.cost import price_metadata

AGGREGATE_COST = 50

FromArgument = Annotated[
    DateTime | None,
    strawberry.argument(
        name="from",
        description="The start of the time span, in UTC and inclusive; unbounded if left out.",
    ),
]
ToArgument = Annotated[
    DateTime | None,
    strawberry.argument(
        name="to",
        description="The end of the time span, in UTC and exclusive; unbounded if left out.",
    ),
]

strawberry.enum(
    Method,
    name="NgsiMethod",
    description="The method that reduces the samples of a period to one value.",
)
describe_values(
    Method,
    {
        Method.COUNT: "The number of samples, including those that are not numbers.",
        Method.SUM: "The sum of the numbers.",
        Method.AVG: "The average of the numbers.",
        Method.MIN: "The smallest of the numbers.",
        Method.MAX: "The largest of the numbers.",
    },
)
strawberry.enum(Period, name="NgsiPeriod", description="The length of a calendar period, in UTC.")
describe_values(
    Period,
    {
        Period.YEAR: "A calendar year from January 1st.",
        Period.MONTH: "A calendar month from its first day.",
        Period.DAY: "A calendar day from midnight, in UTC.",
        Period.HOUR: "An hour from its first minute.",
        Period.MINUTE: "A minute from its first second.",
        Period.SECOND: "A second of the clock.",
    },
)


@strawberry.type(
    description="A sample: a value from a notification with its time. Series are in the order of "
    "`time`."
)
class NgsiSample:
    time: DateTime = strawberry.field(
        description="The time of the event, in UTC: what the notification says, or else `recvTime`."
    )
    recv_time: DateTime = strawberry.field(
        description="The time when the value was received, in UTC."
    )
    type: str | None = strawberry.field(
        description="The type of the value, as written in the notification; null if the server "
        "stores updates as columns, which have no types."
    )
    text: str | None = strawberry.field(
        description="The stored value as text, with numbers and objects as JSON; null for the "
        "value null."
    )
    number: Decimal | None = strawberry.field(
        description="The exact number, if the value is a number or a text that contains one; null "
        "otherwise."
    )
    metadata: str = strawberry.field(
        description="The metadata of the attribute as JSON: an array of `{name, type, value}`."
    )


@strawberry.type(description="The aggregated samples of one period.")
class NgsiBucket:
    start: DateTime = strawberry.field(description="The start of the period, in UTC.")
    samples: int = strawberry.field(
        description="The number of samples in the period, including those that are not numbers."
    )
    value: Decimal | None = strawberry.field(
        description="The result of the method over the numbers in the period; null if the period "
        "contains none."
    )


@strawberry.type(description="An attribute of an entity with its values over time.")
class NgsiAttribute:
    name: str = strawberry.field(
        description="The name of the attribute, as written in the notification."
    )
    type: str = strawberry.field(
        description="The type of the attribute, as written in the latest notification."
    )

    @strawberry.field(
        graphql_type=NgsiSample | None,
        description="The newest sample of the attribute; null if there is none.",
    )
    @staticmethod
    async def latest(
        attribute: strawberry.Parent[directory.Attribute], info: Info
    ) -> Sample | None:
        return await info.context.session.notifications.series.latest(attribute)

    @strawberry.field(
        graphql_type=Connection[NgsiSample],
        description="The samples in a time span. For the newest n samples with the oldest first, "
        "use `last: n` with `OLDEST_FIRST`.",
    )
    @staticmethod
    async def series(
        attribute: strawberry.Parent[directory.Attribute],
        info: Info,
        start: FromArgument = UNSET,
        end: ToArgument = UNSET,
        order: Annotated[
            Order | None,
            strawberry.argument(
                description="The order by the time of the event; OLDEST_FIRST by default."
            ),
        ] = Order.OLDEST_FIRST,
        first: First = UNSET,
        after: After = UNSET,
        last: Last = UNSET,
        before: Before = UNSET,
    ) -> Connection[Sample]:
        span, newest = (
            ngsi.parse_span(unset_to_none(start), unset_to_none(end)),
            order is Order.NEWEST_FIRST,
        )
        samples = info.context.session.notifications.series
        return await read_connection(
            info,
            ("series", attribute.entity, attribute.name, span, newest),
            page_from_arguments(first, after, last, before),
            lambda window: samples.page(attribute, span, window, newest_first=newest),
        )

    @strawberry.field(
        graphql_type=list[NgsiBucket] | None,
        description="The samples in a time span, aggregated by period, oldest first; at most "
        "100,000 samples and 10,000 periods.",
        metadata=price_metadata(AGGREGATE_COST),
    )
    @staticmethod
    async def aggregate(
        attribute: strawberry.Parent[directory.Attribute],
        info: Info,
        method: Annotated[
            Method,
            strawberry.argument(
                description="The method that reduces the samples of a period to one value."
            ),
        ],
        period: Annotated[
            Period, strawberry.argument(description="The length of the calendar periods.")
        ],
        start: FromArgument = UNSET,
        end: ToArgument = UNSET,
        fill: Annotated[
            bool | None,
            strawberry.argument(
                description="True to include periods without samples; false by default."
            ),
        ] = False,
    ) -> list[aggregate_records.AggregateBucket]:
        span = ngsi.parse_span(unset_to_none(start), unset_to_none(end))
        return await ngsi.aggregate(info.context, attribute, span, method, period, fill=bool(fill))


@strawberry.type(description="An NGSI entity of a service path.")
class NgsiEntity:
    entity_id: str = strawberry.field(
        description="The id of the entity, as written in the notification."
    )
    entity_type: str = strawberry.field(
        description="The type of the entity, as written in the notification; empty if there was "
        "none."
    )

    @strawberry.field(
        graphql_type=Connection[NgsiAttribute],
        description="All attributes of the entity that were ever received, sorted by name.",
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
        return await read_connection(
            info,
            ("attributes", entity),
            page_from_arguments(first, after, last, before),
            lambda window: info.context.session.notifications.directory.attributes(entity, window),
        )

    @strawberry.field(
        graphql_type=NgsiAttribute | None,
        description="The attribute with the given name; null if it was never received.",
    )
    @staticmethod
    async def attribute(
        entity: strawberry.Parent[directory.Entity],
        info: Info,
        name: Annotated[
            str,
            strawberry.argument(
                description="The name of the attribute, as written in the notification."
            ),
        ],
    ) -> directory.Attribute | None:
        return await ngsi.find_attribute(info.context, entity, name)
