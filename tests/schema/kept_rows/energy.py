"""A pipeline that keeps the monthly energy of plants, and how the tests use it."""

from typing import Any

from penstock.datastore.roles import Caller
from tests.schema.executions.test_executions import create_execution
from tests.support.graphql_client import ROOT, Ask

ENERGY: dict[str, Any] = {
    "parameters": [
        {"index": 0, "key": "plant", "type": "STRING", "required": True},
        {"index": 1, "key": "month", "type": "TIMESTAMP"},
        {"index": 2, "key": "meter", "type": "NUMBER"},
    ],
    "transforms": [
        {"index": n, "formula": formula, "outputs": [{"index": 0, "key": key, "type": type}]}
        for n, (key, formula, type) in enumerate(
            (
                ("plant", ":plant", "STRING"),
                ("month", "AS_TIMESTAMP(:month, 'yyyy-MM-dd')", "TIMESTAMP"),
                ("kwh", ":meter * 1.5", "NUMBER"),
                ("high", ":meter > 100", "BOOLEAN"),
            )
        )
    ],
    "rows": {"key": ["plant", "month"], "time": "month", "group": "plant"},
}
ROWS = """query($id: ID!, $group: GroupPath, $below: Boolean, $from: DateTime, $to: DateTime,
    $where: [RowConditionInput!], $asAt: DateTime, $first: Int, $after: String, $last: Int,
    $before: String) {
  pipeline(id: $id) { rows(group: $group, includeChildGroups: $below, from: $from, to: $to,
      where: $where, asAt: $asAt, first: $first, after: $after, last: $last, before: $before) {
    nodes { id key values time group withdrawn number pipelineVersion execution { id } }
    pageInfo { hasNextPage hasPreviousPage startCursor endCursor } } } }"""
TOTALS = """query($id: ID!, $measures: [MeasureInput!]!, $every: Every, $zone: String,
    $by: [String!], $group: GroupPath, $below: Boolean, $from: DateTime, $to: DateTime,
    $where: [RowConditionInput!], $asAt: DateTime, $first: Int, $after: String, $last: Int,
    $before: String) {
  pipeline(id: $id) { totals(measures: $measures, every: $every, zone: $zone, by: $by,
      group: $group, includeChildGroups: $below, from: $from, to: $to, where: $where,
      asAt: $asAt, first: $first, after: $after, last: $last, before: $before) {
    nodes { start end rows by { output value } measures { name value } }
    pageInfo { hasNextPage hasPreviousPage startCursor endCursor } } } }"""
WITHDRAW = """mutation($input: WithdrawRowsInput!) { withdrawRows(input: $input) { __typename
  ...on UserError { code message path } ...on NotFound { positions }
  ...on ValidationProblem { problems { path message } }
  ...on WithdrawRowsPayload { count pipeline { id } } } }"""
KWH_SUM = [{"output": "kwh", "function": "SUM", "as": "kwh"}]


async def keep_energy(ask: Ask, **changes: Any) -> str:
    """Make the pipeline in /usa; return its id."""
    await ask.create_groups()
    return await ask.make("/usa", "Energy", transformer={**ENERGY, **changes})


def meter(plant: str, month: str, value: object) -> dict[str, Any]:
    return {"plant": plant, "month": month, "meter": value}


async def run_rows(ask: Ask, pipeline: str, *rows: dict[str, Any], caller: Caller = ROOT) -> Any:
    """Run rows; return the execution, which ended."""
    return await create_execution(ask, caller, pipelineId=pipeline, mode="INLINE", rows=rows)


async def list_rows(ask: Ask, id: str, caller: Caller = ROOT, **arguments: Any) -> Any:
    found = await ask(ROWS, {"id": id, **arguments}, caller)
    return found.value["rows"]


async def read_energy(ask: Ask, id: str, caller: Caller = ROOT, **arguments: Any) -> dict[str, str]:
    """The kilowatt-hours of the rows, by the plant and the month of their keys."""
    rows = (await list_rows(ask, id, caller, first=100, **arguments))["nodes"]
    return {f"{one['group']} {one['time'][:7]}": str(one["values"]["kwh"]) for one in rows}


async def list_totals(ask: Ask, id: str, caller: Caller = ROOT, **arguments: Any) -> Any:
    given = {"measures": KWH_SUM, **arguments}
    return (await ask(TOTALS, {"id": id, **given}, caller)).value["totals"]


async def read_sums(ask: Ask, id: str, caller: Caller = ROOT, **arguments: Any) -> dict[str, str]:
    """The sum of each total, by its start and the values of its outputs."""
    found = await list_totals(ask, id, caller, first=100, **arguments)
    return {
        " ".join([(one["start"] or "")[:10], *(each["value"] for each in one["by"])]).strip(): str(
            one["measures"][0]["value"]
        )
        for one in found["nodes"]
    }
