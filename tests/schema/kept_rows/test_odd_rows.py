"""Names, times and zones at their limits leave rows readable."""

from datetime import UTC, datetime
from typing import Any

import pytest

from tests.schema.executions.test_executions import create_execution
from tests.schema.kept_rows.energy import TOTALS, list_rows, list_totals
from tests.support.graphql_client import ROOT, Ask

EVERY = ("HOUR", "DAY", "WEEK", "MONTH", "QUARTER", "YEAR")
COUNT = [{"output": "n", "function": "COUNT"}]
YEAR_2 = -62_104_060_800_000
YEAR_9998 = 253_339_228_800_000


def transformer(key: str, **rows: str) -> dict[str, Any]:
    outputs = ((key, "STRING"), ("n", "TIMESTAMP" if rows else "NUMBER"))
    return {
        "parameters": [
            {"index": n, "key": name, "type": type}
            for n, (name, type) in enumerate(((key, "STRING"), ("n", "NUMBER")))
        ],
        "transforms": [
            {
                "index": n,
                "formula": f":{name}",
                "outputs": [{"index": 0, "key": name, "type": type}],
            }
            for n, (name, type) in enumerate(outputs)
        ],
        "rows": {"key": [key], **rows},
    }


async def run(ask: Ask, id: str, *rows: dict[str, Any]) -> Any:
    return await create_execution(ask, ROOT, pipelineId=id, mode="INLINE", rows=list(rows))


@pytest.mark.parametrize(
    "key", ["filename", "FileName", "file_row_number", "versions", "places", "files", "key", "row"]
)
async def test_an_output_may_have_any_name(ask: Ask, key: str) -> None:
    await ask.create_groups()
    id = await ask.make("/usa", "Names", transformer=transformer(key))
    await run(ask, id, {key: "a", "n": 1}, {key: "b", "n": 2})
    await run(ask, id, {key: "a", "n": 3})
    found = (await list_rows(ask, id))["nodes"]
    assert [(one["values"][key], int(one["values"]["n"])) for one in found] == [("a", 3), ("b", 2)]
    measures = [{"output": "n", "function": "SUM", "as": "n"}]
    (total,) = (await list_totals(ask, id, measures=measures))["nodes"]
    assert total["measures"] == [{"name": "n", "value": "5"}]


async def test_rows_of_the_first_and_the_last_day_have_totals_in_every_zone(ask: Ask) -> None:
    await ask.create_groups()
    id = await ask.make("/usa", "Times", transformer=transformer("k", time="n"))
    made = await run(
        ask,
        id,
        {"k": "too early", "n": YEAR_2 - 1},
        {"k": "first", "n": YEAR_2},
        {"k": "last", "n": YEAR_9998 - 1},
        {"k": "too late", "n": YEAR_9998},
    )
    problems = [(one["row"], one["code"]) for one in made["results"]["problems"]]
    assert problems == [(1, "ROW_WITHOUT_TIME"), (4, "ROW_WITHOUT_TIME")]
    for zone in ("UTC", "Etc/GMT+12", "Etc/GMT-14", "America/Los_Angeles", "Europe/Berlin"):
        for every in EVERY:
            page = await list_totals(ask, id, measures=COUNT, every=every, zone=zone)
            assert [one["rows"] for one in page["nodes"]] == [1, 1], (zone, every)
            for one, time in zip(page["nodes"], (YEAR_2, YEAR_9998 - 1), strict=True):
                start, end = (datetime.fromisoformat(one[name]) for name in ("start", "end"))
                instant = datetime(1970, 1, 1, tzinfo=UTC).timestamp() + time / 1000
                assert start.timestamp() <= instant < end.timestamp()


@pytest.mark.parametrize("zone", ["localtime", "", "utc ", "Europe/../UTC", "posixrules"])
async def test_a_zone_that_only_this_machine_knows_is_refused(ask: Ask, zone: str) -> None:
    await ask.create_groups()
    id = await ask.make("/usa", "Zones", transformer=transformer("k", time="n"))
    await run(ask, id, {"k": "a", "n": 0})
    told = await ask(TOTALS, {"id": id, "measures": COUNT, "every": "DAY", "zone": zone or " "})
    assert told.code == "BAD_USER_INPUT"
