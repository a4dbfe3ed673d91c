"""The arguments that choose rows and totals, and their conversion to requests."""

from decimal import Decimal
from typing import Annotated

import strawberry
from strawberry import UNSET

from penstock.datastore.errors import FieldProblem, Invalid
from penstock.datastore.kept_rows.conditions import (
    MAX_CHOICES,
    MAX_CONDITIONS,
    RowCondition,
    RowFilter,
)
from penstock.datastore.kept_rows.read_totals import (
    MAX_BY,
    MAX_MEASURES,
    Every,
    Measure,
    TotalsRequest,
    time_zones,
)
from penstock.datastore.kept_rows.records import RowValue
from penstock.datastore.records import MeasureFunction
from penstock.datastore.roles import GroupPath
from penstock.schema.core.context import unset_to_none
from penstock.schema.core.descriptions import describe_values
from penstock.schema.core.scalars import JSON, DateTime
from penstock.schema.executions.group_executions import parse_time

strawberry.enum(
    Every, description="The length of the times that totals are made of, by the clock of a zone."
)
describe_values(
    Every,
    {
        Every.HOUR: "An hour each.",
        Every.DAY: "A day each.",
        Every.WEEK: "A week each, from Monday on.",
        Every.MONTH: "A month each.",
        Every.QUARTER: "A quarter of a year each.",
        Every.YEAR: "A year each.",
    },
)
strawberry.enum(
    MeasureFunction, description="A function of the values of an output, which leaves out null."
)
describe_values(
    MeasureFunction,
    {
        MeasureFunction.SUM: "The exact sum of the numbers.",
        MeasureFunction.COUNT: "The number of the values.",
        MeasureFunction.MIN: "The smallest number.",
        MeasureFunction.MAX: "The largest number.",
        MeasureFunction.AVG: "The exact sum divided by the number of the values, to 34 digits.",
    },
)


@strawberry.input(
    description="A condition on one output of a row. All comparisons that are given must hold; a "
    "row without a value fulfils none."
)
class RowConditionInput:
    output: str = strawberry.field(description="The key of the output.")
    eq: JSON | None = strawberry.field(
        default=UNSET, description="The value that it has: a text, a number or a truth value."
    )
    any_of: list[JSON] | None = strawberry.field(
        name="in", default=UNSET, description=f"Values of which it has one, at most {MAX_CHOICES}."
    )
    gte: JSON | None = strawberry.field(
        default=UNSET, description="The value from which on it lies, inclusive."
    )
    lt: JSON | None = strawberry.field(
        default=UNSET, description="The value below which it lies, exclusive."
    )

    def condition(self, path: list[str]) -> RowCondition:
        choices = unset_to_none(self.any_of)
        return RowCondition(
            output=self.output,
            eq=_row_value(unset_to_none(self.eq), [*path, "eq"]),
            any_of=None
            if choices is None
            else tuple(_row_value(one, [*path, "in", str(n)]) for n, one in enumerate(choices)),
            gte=_row_value(unset_to_none(self.gte), [*path, "gte"]),
            lt=_row_value(unset_to_none(self.lt), [*path, "lt"]),
        )


@strawberry.input(description="A function of the values of one output.")
class MeasureInput:
    output: str = strawberry.field(description="The key of the output.")
    function: MeasureFunction = strawberry.field(description="The function of its values.")
    name: str | None = strawberry.field(
        name="as",
        default=UNSET,
        description="The name of the result; `<function>_<output>` in small letters if left out.",
    )

    def measure(self) -> Measure:
        name = unset_to_none(self.name)
        chosen = f"{self.function.value}_{self.output}" if name is None else name
        return Measure(self.output, self.function, chosen)


def _row_value(value: object, path: list[str]) -> RowValue:
    if isinstance(value, bool) or value is None or isinstance(value, str | Decimal):
        return value
    if isinstance(value, int | float):
        return Decimal(str(value))
    raise Invalid([FieldProblem(path, "must be a text, a number or a truth value")])


RowGroupArgument = Annotated[
    GroupPath | None,
    strawberry.argument(
        description="The path of the group whose rows are meant. Without it all rows in the "
        "caller's sight are."
    ),
]
RowChildGroupsArgument = Annotated[
    bool | None,
    strawberry.argument(description="Whether the rows of groups below the group are meant too."),
]
RowFromArgument = Annotated[
    DateTime | None,
    strawberry.argument(
        name="from", description="The time of a row from which on it is meant, inclusive."
    ),
]
RowToArgument = Annotated[
    DateTime | None,
    strawberry.argument(
        name="to", description="The time of a row before which it is meant, exclusive."
    ),
]
RowWhereArgument = Annotated[
    list[RowConditionInput] | None,
    strawberry.argument(
        description=f"Conditions on the outputs, all of which hold; at most {MAX_CONDITIONS}."
    ),
]
RowTimeArgument = Annotated[
    DateTime | None,
    strawberry.argument(description="The time as of which rows are shown. The default is now."),
]
EveryArgument = Annotated[
    Every | None,
    strawberry.argument(
        description="The length of the times of totals. Without it the rows of all times are in "
        "one total."
    ),
]
EverySeriesArgument = Annotated[
    Every, strawberry.argument(description="The length of the time of each point.")
]
ZoneArgument = Annotated[
    str | None,
    strawberry.argument(
        description="The name of the time zone by whose clock times begin, such as "
        "`Europe/Berlin`. The default is UTC."
    ),
]
ByArgument = Annotated[
    list[str] | None,
    strawberry.argument(
        description=f"The keys of outputs for whose values there are separate totals, at most "
        f"{MAX_BY}."
    ),
]
MeasuresArgument = Annotated[
    list[MeasureInput],
    strawberry.argument(description=f"The functions of outputs to compute, 1 to {MAX_MEASURES}."),
]


def row_filter(
    group: GroupPath | None,
    include_child_groups: bool | None,
    start: str | None,
    end: str | None,
    where: list[RowConditionInput] | None,
    as_at: str | None,
) -> RowFilter:
    """Read the arguments that choose rows; raises Invalid."""
    given = unset_to_none(where) or []
    return RowFilter(
        group=unset_to_none(group),
        include_child_groups=bool(include_child_groups),
        start=parse_time(start),
        end=parse_time(end),
        where=tuple(one.condition(["where", str(n)]) for n, one in enumerate(given)),
        as_at=parse_time(as_at),
    )


def time_zone_name(zone: str | None) -> str:
    """Return the name of a time zone, UTC if it is left out; raises Invalid for an unknown one."""
    name = unset_to_none(zone) or "UTC"
    if name not in time_zones():
        raise Invalid([FieldProblem(["zone"], f"there is no time zone {name[:64]!r}")])
    return name


def totals_request(
    every: Every | None, zone: str | None, by: list[str] | None, measures: list[MeasureInput]
) -> TotalsRequest:
    """Read the arguments that choose totals; raises Invalid for an unknown time zone."""
    return TotalsRequest(
        every=unset_to_none(every),
        zone=time_zone_name(zone),
        by=tuple(unset_to_none(by) or ()),
        measures=tuple(one.measure() for one in measures),
    )
