"""The types of NGSI entities, their attributes, samples and aggregates."""

from decimal import Decimal
from typing import Annotated

import strawberry
from strawberry import UNSET

from penstock.datastore.ngsi import directory
from penstock.datastore.ngsi.reading import aggregates as aggregate_records
from penstock.datastore.ngsi.reading.downsampling import Downsampling
from penstock.datastore.ngsi.reading.periods import Period
from penstock.datastore.ngsi.reading.series import Sample
from penstock.datastore.ngsi.reading.summaries import Method
from penstock.resolvers import ngsi
from penstock.schema.core.context import After, Before, First, Info, Last, Order, unset_to_none
from penstock.schema.core.descriptions import describe_values
from penstock.schema.core.relay import Connection, page_from_arguments, read_connection
from penstock.schema.core.scalars import DateTime
from penstock.schema.engine.cost import price_metadata

AGGREGATE_COST = 50
POINTS_COST = 20
DEFAULT_POINTS = 1000

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
        Method.FIRST: "The first of the numbers.",
        Method.LAST: "The last of the numbers.",
        Method.PERCENTILE: "The percentile of the numbers that `percentile` names.",
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
    error: Decimal = strawberry.field(
        description="The part of themselves by which the numbers that a percentile lies between "
        "may be off; 0 if it is exact. All other methods are exact."
    )
    resolution: int = strawberry.field(
        name="resolutionSeconds",
        description="0 if the period is exact. Of very many samples, a long period that is not "
        "made of whole minutes, or of whole hours for PERCENTILE, begins and ends with these: 60 "
        "or 3600.",
    )


MethodArgument = Annotated[
    Method,
    strawberry.argument(
        description="The method that reduces the samples of a period to one value."
    ),
]
PercentileArgument = Annotated[
    Decimal | None,
    strawberry.argument(
        description="The percentile of the method PERCENTILE, 0 to 100; 50 by default, which is "
        "the median."
    ),
]
FillArgument = Annotated[
    bool | None,
    strawberry.argument(description="True to include periods without samples; false by default."),
]

strawberry.enum(
    Downsampling,
    name="NgsiDownsampling",
    description="The choice of a few points from many samples.",
)
describe_values(
    Downsampling,
    {
        Downsampling.LTTB: "The samples that span the largest triangles (largest triangle three "
        "buckets): the shape stays, with its peaks.",
        Downsampling.MIN: "The smallest sample of each stretch of time.",
        Downsampling.MAX: "The largest sample of each stretch of time.",
        Downsampling.AVG: "The average of each stretch of time, at its first sample.",
    },
)


@strawberry.type(description="Samples as lists of equal length, oldest first.")
class NgsiPointPage:
    times: list[DateTime] = strawberry.field(description="The times of the events, in UTC.")
    values: list[Decimal | None] = strawberry.field(
        description="The exact numbers; null for a value that is not a number."
    )
    texts: list[str | None] = strawberry.field(
        description="The values as text, with numbers and objects as JSON; null for the value null."
    )
    end_cursor: str | None = strawberry.field(
        description="The cursor to give as `after` to read on; null if this page is the last one."
    )


@strawberry.type(description="Chosen points as lists of equal length, oldest first.")
class NgsiChart:
    times: list[DateTime] = strawberry.field(description="The times of the points, in UTC.")
    values: list[Decimal] = strawberry.field(description="The numbers of the points.")
    resolution_seconds: int = strawberry.field(
        description="0 if the points were chosen from all samples. Otherwise 60 or 3600: they were "
        "chosen from kept minutes or hours, and their times are in the minute or hour."
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
        return await info.context.loaders.ngsi_latest.load(attribute)

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
        graphql_type=NgsiPointPage | None,
        description="The samples in a time span as lists of equal length, oldest first: up to "
        "10,000 a page, for a chart. Each two samples that are read cost a unit.",
        metadata=price_metadata(POINTS_COST),
    )
    @staticmethod
    async def points(
        attribute: strawberry.Parent[directory.Attribute],
        info: Info,
        start: FromArgument = UNSET,
        end: ToArgument = UNSET,
        limit: Annotated[
            int | None,
            strawberry.argument(description="The longest page, 1 to 10,000; 1,000 by default."),
        ] = 1000,
        after: After = UNSET,
    ) -> ngsi.PointPage:
        span = ngsi.parse_span(unset_to_none(start), unset_to_none(end))
        size = DEFAULT_POINTS if limit is None else limit
        return await ngsi.list_points(info.context, attribute, span, size, unset_to_none(after))

    @strawberry.field(
        graphql_type=NgsiChart | None,
        description="A few points that look like the numbers in a time span: up to 100,000 samples "
        "are read, and each two of them cost a unit. Points of more samples are chosen from "
        "minutes or hours that are kept, as `aggregate` reads them.",
        metadata=price_metadata(AGGREGATE_COST),
    )
    @staticmethod
    async def downsample(
        attribute: strawberry.Parent[directory.Attribute],
        info: Info,
        points: Annotated[
            int, strawberry.argument(description="The largest number of points, 3 to 10,000.")
        ],
        method: Annotated[
            Downsampling | None,
            strawberry.argument(description="The choice of the points; LTTB by default."),
        ] = Downsampling.LTTB,
        start: FromArgument = UNSET,
        end: ToArgument = UNSET,
    ) -> ngsi.Chart:
        span = ngsi.parse_span(unset_to_none(start), unset_to_none(end))
        chosen = Downsampling.LTTB if method is None else method
        return await ngsi.downsample_series(info.context, attribute, span, points, chosen)

    @strawberry.field(
        graphql_type=list[NgsiBucket] | None,
        description="The samples in a time span, aggregated by period, oldest first, in at most "
        "10,000 periods. At most 100,000 samples are read, and each two of them cost a unit. What "
        "was read of whole hours is kept, for periods of whole minutes, and of whole hours for "
        "PERCENTILE: 800 bytes of it cost a unit, a day one at least, and a longer span that is "
        "refused gets further with each call.",
        metadata=price_metadata(AGGREGATE_COST),
    )
    @staticmethod
    async def aggregate(
        attribute: strawberry.Parent[directory.Attribute],
        info: Info,
        method: MethodArgument,
        period: Annotated[
            Period, strawberry.argument(description="The length of the calendar periods.")
        ],
        start: FromArgument = UNSET,
        end: ToArgument = UNSET,
        fill: FillArgument = False,
        percentile: PercentileArgument = UNSET,
    ) -> list[aggregate_records.AggregateBucket]:
        span = ngsi.parse_span(unset_to_none(start), unset_to_none(end))
        how = ngsi.build_aggregation(method, period, unset_to_none(percentile))
        return await info.context.session.notifications.hours.aggregate(
            attribute, span, how, fill=bool(fill)
        )

    @strawberry.field(
        graphql_type=list[NgsiBucket] | None,
        description="The samples in a time span, aggregated by periods of any length, as "
        "`aggregate` does by the calendar.",
        metadata=price_metadata(AGGREGATE_COST),
    )
    @staticmethod
    async def buckets(
        attribute: strawberry.Parent[directory.Attribute],
        info: Info,
        method: MethodArgument,
        width_seconds: Annotated[
            int,
            strawberry.argument(
                description="The length of the periods in seconds, 1 to 31,622,400, counted from "
                "1970."
            ),
        ],
        start: FromArgument = UNSET,
        end: ToArgument = UNSET,
        fill: FillArgument = False,
        percentile: PercentileArgument = UNSET,
    ) -> list[aggregate_records.AggregateBucket]:
        span, width = ngsi.parse_span(unset_to_none(start), unset_to_none(end)), width_seconds
        how = ngsi.build_aggregation(method, ngsi.check_width(width), unset_to_none(percentile))
        return await info.context.session.notifications.hours.aggregate(
            attribute, span, how, fill=bool(fill)
        )


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
