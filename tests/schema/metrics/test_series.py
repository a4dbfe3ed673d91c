"""The series of metrics: exact values over time and groups, each traced back to its rows."""

from decimal import Decimal
from typing import Any

from tests.schema.kept_rows.energy import (
    ENERGY,
    KWH_SUM,
    WITHDRAW,
    keep_energy,
    list_rows,
    list_totals,
    meter,
    run_rows,
)
from tests.schema.metrics.sample_metrics import (
    SERIES,
    YEAR,
    kwh,
    make_metric,
    read_series,
    read_values,
)
from tests.support.graphql_client import Ask, as_caller

TX, CA = "/usa/tx", "/usa/ca"
READER = as_caller("ron", "/usa/tx=reader")


async def keep_four(ask: Ask) -> str:
    """Keep rows of two plants, and one of the group above both."""
    pipeline = await keep_energy(ask)
    await run_rows(
        ask,
        pipeline,
        meter(TX, "2025-01-01", 10),
        meter(f"{TX}/dallas", "2025-01-01", 1),
        meter(CA, "2025-01-01", "0.1"),
        meter("/usa", "2025-02-01", 200),
    )
    return pipeline


async def test_a_series_rolls_up_the_groups_below(ask: Ask) -> None:
    await keep_four(ask)
    metric = await make_metric(ask, "energy", kwh())
    assert await read_values(ask, metric) == {"2025-01-01": "16.65", "2025-02-01": "300"}
    assert await read_values(ask, metric, group=TX) == {"2025-01-01": "16.5"}
    assert await read_values(ask, metric, every="YEAR") == {"2025-01-01": "316.65"}
    assert await read_values(ask, metric, group="/usa", breakdown="GROUP") == {
        "2025-01-01 /usa/ca": "0.15",
        "2025-01-01 /usa/tx": "16.5",
        "2025-02-01 /usa": "300",
    }
    assert await read_values(ask, metric, breakdown="GROUP", every="YEAR") == {
        "2025-01-01 /usa": "316.65"
    }
    assert await read_values(ask, metric, group=TX, breakdown="GROUP") == {
        "2025-01-01 /usa/tx": "15",
        "2025-01-01 /usa/tx/dallas": "1.5",
    }


async def test_a_function_is_over_all_rows_and_over_the_value_of_each_metric(ask: Ask) -> None:
    await keep_four(ask)
    rows = {
        name: await make_metric(ask, name, kwh(), function=name)
        for name in ("SUM", "COUNT", "MIN", "MAX", "AVG")
    }
    january = [(await read_values(ask, one))["2025-01-01"] for one in rows.values()]
    assert january == ["16.65", "3", "0.15", "15", "5.55"]
    both = [{"metric": "SUM"}, {"metric": "COUNT"}]
    expected = {"SUM": "19.65", "COUNT": "2", "MIN": "3", "MAX": "16.65", "AVG": "9.825"}
    for function, value in expected.items():
        metric = await make_metric(ask, f"{function} of both", *both, function=function)
        assert (await read_values(ask, metric))["2025-01-01"] == value
    mixed = await make_metric(ask, "mixed", kwh(), {"metric": "AVG"}, function="AVG")
    assert await read_values(ask, mixed) == {"2025-01-01": "5.55", "2025-02-01": "300"}
    assert await read_values(ask, mixed, breakdown="INPUT") == {
        "2025-01-01 0": "5.55",
        "2025-01-01 1": "5.55",
        "2025-02-01 0": "300",
        "2025-02-01 1": "300",
    }


async def sum_of_rows(ask: Ask, source: dict[str, Any]) -> tuple[int, Decimal]:
    """Read the rows that a source names; return their number and the sum of its output."""
    rows = (
        await list_rows(
            ask,
            source["pipelineId"],
            first=100,
            group=source["group"],
            below=source["includeChildGroups"],
            **{name: source[name] for name in ("from", "to", "asAt")},
        )
    )["nodes"]
    return len(rows), sum((one["values"][source["output"]] for one in rows), Decimal(0))


async def test_the_rows_of_a_points_sources_sum_up_to_the_point_whatever_came_since(
    ask: Ask,
) -> None:
    pipeline = await keep_four(ask)
    gas = await ask.make("/usa", "Gas", transformer=ENERGY)
    await run_rows(ask, gas, meter(TX, "2025-01-15", 2), meter(CA, "2025-03-01", 4))
    await make_metric(ask, "electricity", kwh())
    metric = await make_metric(ask, "all", {"metric": "electricity"}, kwh("Gas"))
    cuts: list[dict[str, Any]] = [
        {"breakdown": "NONE"},
        {"breakdown": "GROUP"},
        {"breakdown": "GROUP", "group": "/usa"},
        {"breakdown": "GROUP", "group": TX, "every": "WEEK"},
        {"breakdown": "INPUT", "zone": "America/Chicago"},
        {"every": "QUARTER", "from": "2025-01-10T00:00:00Z"},
    ]
    found = [await read_series(ask, metric, **cut) for cut in cuts]
    await run_rows(ask, pipeline, meter(TX, "2025-01-01", 7000))
    await run_rows(ask, gas, meter(TX, "2025-01-16", 5))
    done = await ask.input(
        WITHDRAW, pipelineId=pipeline, keys=[["/usa", "1738368000000"]], reason="broken"
    )
    assert done["count"] == 1
    for cut, series in zip(cuts, found, strict=True):
        assert series["points"], cut
        for point in series["points"]:
            total = Decimal(0)
            for source in point["sources"]:
                count, value = await sum_of_rows(ask, source)
                assert (count, value) == (source["rows"], Decimal(source["value"])), cut
                total += value
            assert total == (Decimal(point["value"]) if point["value"] else 0), cut
    assert (await read_values(ask, metric))["2025-01-01"] == "10512.15"
    assert await read_values(ask, metric, asAt=found[0]["points"][0]["sources"][0]["asAt"]) == {
        "2025-01-01": "16.65",
        "2025-02-01": "300",
    }


async def test_a_series_counts_only_what_its_reader_sees(ask: Ask) -> None:
    await keep_four(ask)
    secret = await ask.make("/eu", "Secret", transformer=ENERGY)
    await run_rows(ask, secret, meter("/eu", "2025-01-01", 1000))
    metric = await make_metric(ask, "energy", kwh(), kwh(secret))
    assert (await read_values(ask, metric))["2025-01-01"] == "1516.65"
    whole = await read_series(ask, metric, READER)
    assert [(one["value"], len(one["sources"])) for one in whole["points"]] == [("16.5", 1)]
    assert whole["isComplete"] is False
    assert (await read_series(ask, metric))["isComplete"] is True
    assert (await read_series(ask, metric, READER, group=CA))["points"] == []
    stranger = as_caller("eve", "/eu=reader")
    assert (await ask(SERIES, {"id": metric, **YEAR}, stranger)).data == {"metric": None}


async def test_too_many_points_and_an_unknown_zone_are_refused(ask: Ask) -> None:
    pipeline = await keep_energy(ask)
    rows = [meter("/usa", f"{1000 + n // 12}-{n % 12 + 1:02d}-01", 1) for n in range(2001)]
    for start in range(0, len(rows), 500):
        await run_rows(ask, pipeline, *rows[start : start + 500])
    metric = await make_metric(ask, "energy", kwh())
    whole = {"from": "1000-01-01T00:00:00Z", "to": "2000-01-01T00:00:00Z"}
    refused = await ask(SERIES, {"id": metric, **YEAR, **whole})
    assert refused.code == "LIMIT_EXCEEDED"
    shorter: dict[str, Any] = {**whole, "from": "1000-02-01T00:00:00Z"}
    assert len((await read_series(ask, metric, **shorter))["points"]) == 2000
    refused = await ask(SERIES, {"id": metric, **YEAR, "zone": "Mars"})
    assert refused.code == "BAD_USER_INPUT"


async def test_times_of_series_and_totals_follow_the_clock_of_a_zone_and_leap_days(
    ask: Ask,
) -> None:
    hourly = {
        **ENERGY,
        "transforms": [
            {**one, "formula": "AS_TIMESTAMP(:month, 'yyyy-MM-dd HH:mm')"}
            if one["outputs"][0]["key"] == "month"
            else one
            for one in ENERGY["transforms"]
        ],
    }
    pipeline = await keep_energy(ask, **hourly)
    times = (
        *("2024-02-28 23:30", "2024-02-29 12:00", "2024-03-31 00:30", "2024-03-31 01:30"),
        *("2024-10-27 00:30", "2024-10-27 01:30", "2024-10-27 22:30", "2024-10-27 23:30"),
    )
    await run_rows(ask, pipeline, *(meter("/usa", time, 2**n) for n, time in enumerate(times)))
    metric = await make_metric(ask, "energy", kwh())
    berlin: dict[str, Any] = {
        "zone": "Europe/Berlin",
        "from": "2024-01-01T00:00:00Z",
        "to": "2025-01-01T00:00:00Z",
    }

    async def read(every: str) -> list[tuple[str, str, str]]:
        found = await read_series(ask, metric, **berlin, every=every)
        points = [(one["start"][:16], one["end"][:16], one["value"]) for one in found["points"]]
        page = await list_totals(ask, pipeline, measures=KWH_SUM, **berlin, every=every)
        assert points == [
            (one["start"][:16], one["end"][:16], one["measures"][0]["value"])
            for one in page["nodes"]
        ]
        return points

    assert await read("DAY") == [
        ("2024-02-28T23:00", "2024-02-29T23:00", "4.5"),
        ("2024-03-30T23:00", "2024-03-31T22:00", "18"),
        ("2024-10-26T22:00", "2024-10-27T23:00", "168"),
        ("2024-10-27T23:00", "2024-10-28T23:00", "192"),
    ]
    assert [one[:2] for one in await read("MONTH")] == [
        ("2024-01-31T23:00", "2024-02-29T23:00"),
        ("2024-02-29T23:00", "2024-03-31T22:00"),
        ("2024-09-30T22:00", "2024-10-31T23:00"),
    ]
    assert [one for one in await read("HOUR") if one[0].startswith("2024-10-27T0")] == [
        ("2024-10-27T00:00", "2024-10-27T01:00", "24"),
        ("2024-10-27T01:00", "2024-10-27T02:00", "48"),
    ]
    assert await read("WEEK") == [
        ("2024-02-25T23:00", "2024-03-03T23:00", "4.5"),
        ("2024-03-24T23:00", "2024-03-31T22:00", "18"),
        ("2024-10-20T22:00", "2024-10-27T23:00", "168"),
        ("2024-10-27T23:00", "2024-11-03T23:00", "192"),
    ]
    assert await read("QUARTER") == [
        ("2023-12-31T23:00", "2024-03-31T22:00", "22.5"),
        ("2024-09-30T22:00", "2024-12-31T23:00", "360"),
    ]
    assert await read("YEAR") == [("2023-12-31T23:00", "2024-12-31T23:00", "382.5")]


async def test_values_of_34_digits_are_summed_exactly(ask: Ask) -> None:
    pipeline = await keep_energy(ask)
    large, small = "9999999999999999999999999999999998", "0.0000000000000000000000000000000002"
    await run_rows(
        ask,
        pipeline,
        meter(TX, "2025-01-01", large[:-1] + "0"),
        meter(CA, "2025-01-01", small),
        meter("/usa", "2025-01-01", 2),
    )
    metric = await make_metric(ask, "energy", kwh())
    (value,) = (await read_values(ask, metric)).values()
    assert value == "14999999999999999999999999999999988.0000000000000000000000000000000003"
