"""Kept rows and totals of them: their types, and the fields of a pipeline that list them."""

from decimal import Decimal
from typing import Any

import strawberry
from msgspec import to_builtins
from strawberry import UNSET

from penstock.datastore import records
from penstock.datastore.clock import iso_timestamp
from penstock.datastore.executions.records import Execution as ExecutionRecord
from penstock.datastore.kept_rows import read_totals
from penstock.datastore.kept_rows import records as row_records
from penstock.datastore.roles import GroupPath
from penstock.resolvers import kept_rows
from penstock.schema.core.context import After, Before, First, Info, Last
from penstock.schema.core.relay import (
    Connection,
    Node,
    page_from_arguments,
    read_connection,
    record_type_check,
)
from penstock.schema.core.scalars import JSON, DateTime
from penstock.schema.engine.cost import price_metadata
from penstock.schema.executions.executions import Execution
from penstock.schema.executions.row_explanations import RowExplanation, show_row
from penstock.schema.kept_rows.inputs import (
    ByArgument,
    EveryArgument,
    MeasuresArgument,
    RowChildGroupsArgument,
    RowFromArgument,
    RowGroupArgument,
    RowTimeArgument,
    RowToArgument,
    RowWhereArgument,
    ZoneArgument,
    row_filter,
    totals_request,
)


def shown_time(moment: Any) -> DateTime | None:
    return None if moment is None else DateTime(iso_timestamp(moment))


@strawberry.type(
    description="A row that a pipeline keeps, in one of its versions. Its id stays the same when "
    "the row is corrected."
)
class KeptRow(Node):
    key: list[str] = strawberry.field(
        description="The values of the outputs that identify the row, as texts."
    )
    values: JSON = strawberry.field(
        description="An object with the values of the outputs by their keys. A number outside the "
        "range of IEEE 754 doubles is a text in plain decimal notation."
    )
    group: GroupPath = strawberry.field(
        description="The path of the group that the row belongs to."
    )
    pipeline_version: int = strawberry.field(
        description="The version of the pipeline that made the row."
    )
    number: int = strawberry.field(
        description="The number of the row in the output of its execution, counted from 1."
    )
    at: DateTime = strawberry.field(
        description="The time when this version of the row was committed, in UTC."
    )
    withdrawn: bool = strawberry.field(description="Whether this version withdrew the row.")
    reason: str | None = strawberry.field(
        description="The reason of the withdrawal; null if the row was not withdrawn."
    )

    is_type_of = record_type_check(row_records.KeptRow)

    @strawberry.field(
        description="The time of the row, in UTC; null if the rows of the pipeline have no time."
    )
    @staticmethod
    def time(row: strawberry.Parent[row_records.KeptRow]) -> DateTime | None:
        return shown_time(row.time)

    @strawberry.field(
        graphql_type=Execution, description="The execution that made the values of the row."
    )
    @staticmethod
    async def execution(row: strawberry.Parent[row_records.KeptRow], info: Info) -> ExecutionRecord:
        return await info.context.loaders.executions.load(row.execution_id)

    @strawberry.field(
        graphql_type=Connection["KeptRow"],
        metadata=price_metadata(2),
        description="The versions of the row up to this one, newest first; at most the latest 200.",
    )
    @staticmethod
    async def history(
        row: strawberry.Parent[row_records.KeptRow],
        info: Info,
        first: First = UNSET,
        after: After = UNSET,
        last: Last = UNSET,
        before: Before = UNSET,
    ) -> Connection[row_records.KeptRow]:
        return await read_connection(
            info,
            ("row versions", row.pipeline_id, row.digest, row.commit),
            page_from_arguments(first, after, last, before),
            lambda window: kept_rows.list_versions(info.context, row, window),
        )

    @strawberry.field(
        metadata=price_metadata(100),
        description="The steps by which the row comes to its values, from its input row on. The "
        "caller must see the calculations and reference datasets that they use.",
    )
    @staticmethod
    async def explanation(
        row: strawberry.Parent[row_records.KeptRow], info: Info
    ) -> RowExplanation:
        return show_row(await info.context.session.executions.explaining.one(row))


@strawberry.type(description="A result of a function over the rows of a total.")
class MeasuredValue:
    name: str = strawberry.field(description="The name of the measure.")
    value: Decimal | None = strawberry.field(
        description="The exact result; null if no row has a value."
    )


@strawberry.type(description="An output, and the value that all rows of a total have in it.")
class TotalledValue:
    output: str = strawberry.field(description="The key of the output.")
    value: str | None = strawberry.field(
        description="Its value as text; null if the rows have none."
    )


@strawberry.type(description="The measures of the rows of one time with the same values.")
class Total:
    rows: int = strawberry.field(description="The number of the rows.")

    @strawberry.field(
        description="The start of the time, in UTC; null where all times are in one total."
    )
    @staticmethod
    def start(total: strawberry.Parent[read_totals.Total]) -> DateTime | None:
        return shown_time(total.start)

    @strawberry.field(
        description="The end of the time, exclusive, in UTC; null where all times are in one total."
    )
    @staticmethod
    def end(total: strawberry.Parent[read_totals.Total]) -> DateTime | None:
        return shown_time(total.end)

    @strawberry.field(description="The values by which totals are separate, in their order.")
    @staticmethod
    def by(total: strawberry.Parent[read_totals.Total]) -> list[TotalledValue]:
        return [TotalledValue(output=key, value=value) for key, value in total.by.items()]

    @strawberry.field(description="The results of the measures, in their order.")
    @staticmethod
    def measures(total: strawberry.Parent[read_totals.Total]) -> list[MeasuredValue]:
        return [
            MeasuredValue(name=name, value=None if value is None else Decimal(value))
            for name, value in total.values.items()
        ]


@strawberry.type
class HasRows:
    """The fields about the rows that a pipeline keeps; not a type of the schema itself."""

    @strawberry.field(
        graphql_type=Connection[KeptRow],
        description="The rows that the pipeline keeps and that stand, in the order of their keys. "
        "All pages show the same moment. The caller sees the rows of the groups at which the "
        "caller has a role, and of groups below them.",
    )
    @staticmethod
    async def rows(
        pipeline: strawberry.Parent[records.Pipeline],
        info: Info,
        group: RowGroupArgument = UNSET,
        include_child_groups: RowChildGroupsArgument = False,
        since: RowFromArgument = UNSET,
        until: RowToArgument = UNSET,
        where: RowWhereArgument = UNSET,
        as_at: RowTimeArgument = UNSET,
        first: First = UNSET,
        after: After = UNSET,
        last: Last = UNSET,
        before: Before = UNSET,
    ) -> Connection[row_records.KeptRow]:
        wanted = row_filter(group, include_child_groups, since, until, where, as_at)
        return await read_connection(
            info,
            ("rows", pipeline.id, to_builtins(wanted)),
            page_from_arguments(first, after, last, before),
            lambda window: kept_rows.list_rows(info.context, pipeline, wanted, window),
        )

    @strawberry.field(
        graphql_type=Connection[Total],
        description="Exact totals over the rows that stand, by time and by outputs, in this order. "
        "All pages show the same moment. Only rows in the caller's sight count.",
    )
    @staticmethod
    async def totals(
        pipeline: strawberry.Parent[records.Pipeline],
        info: Info,
        measures: MeasuresArgument,
        every: EveryArgument = UNSET,
        zone: ZoneArgument = UNSET,
        by: ByArgument = UNSET,
        group: RowGroupArgument = UNSET,
        include_child_groups: RowChildGroupsArgument = False,
        since: RowFromArgument = UNSET,
        until: RowToArgument = UNSET,
        where: RowWhereArgument = UNSET,
        as_at: RowTimeArgument = UNSET,
        first: First = UNSET,
        after: After = UNSET,
        last: Last = UNSET,
        before: Before = UNSET,
    ) -> Connection[read_totals.Total]:
        wanted = row_filter(group, include_child_groups, since, until, where, as_at)
        totals = totals_request(every, zone, by, measures)
        roles = sorted((group, int(role)) for group, role in info.context.caller.roles.items())
        return await read_connection(
            info,
            ("totals", pipeline.id, to_builtins(wanted), to_builtins(totals), roles),
            page_from_arguments(first, after, last, before),
            lambda window: kept_rows.list_totals(info.context, pipeline, wanted, totals, window),
        )
