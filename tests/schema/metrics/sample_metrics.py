"""Metrics over the monthly energy of plants, and how the tests use them."""

from typing import Any

from penstock.datastore.roles import Caller
from tests.support.graphql_client import ROOT, Ask

CREATE = """mutation($input: CreateMetricInput!) { createMetric(input: $input) { __typename
  ...on UserError { code message path } ...on ValidationProblem { problems { path message } }
  ...on CreateMetricPayload { metric { id } } } }"""
UPDATE = """mutation($input: UpdateMetricInput!) { updateMetric(input: $input) { __typename
  ...on UserError { code message path } ...on ValidationProblem { problems { path message } }
  ...on UpdateMetricPayload { metric { id version } } } }"""
SERIES = """query($id: ID!, $group: GroupPath, $from: DateTime!, $to: DateTime!, $every: Every!,
    $zone: String, $breakdown: MetricBreakdown, $asAt: DateTime) {
  metric(id: $id) { series(group: $group, from: $from, to: $to, every: $every, zone: $zone,
      breakdown: $breakdown, asAt: $asAt) {
    isComplete points { start end group input value sources {
      pipelineId output function group includeChildGroups from to asAt rows value } } } } }"""
YEAR = {"from": "2025-01-01T00:00:00Z", "to": "2026-01-01T00:00:00Z", "every": "MONTH"}


def kwh(pipeline: str = "Energy") -> dict[str, str]:
    return {"pipeline": pipeline, "output": "kwh"}


async def make_metric(
    ask: Ask, name: str, *inputs: dict[str, str], function: str = "SUM", **more: Any
) -> str:
    """Make a metric in /usa; return its id."""
    given = {"group": "/usa", "name": name, "function": function, "inputs": inputs, **more}
    made = await ask.input(CREATE, **given)
    assert made["__typename"] == "CreateMetricPayload", made
    return str(made["metric"]["id"])


async def read_series(ask: Ask, id: str, caller: Caller = ROOT, **arguments: Any) -> Any:
    return (await ask(SERIES, {"id": id, **YEAR, **arguments}, caller)).value["series"]


async def read_values(
    ask: Ask, id: str, caller: Caller = ROOT, **arguments: Any
) -> dict[str, str | None]:
    """The value of each point, by its start and its group or input."""
    found = await read_series(ask, id, caller, **arguments)
    return {
        " ".join(
            str(part)
            for part in (one["start"][:10], one["group"], one["input"])
            if part is not None
        ): one["value"]
        for one in found["points"]
    }
