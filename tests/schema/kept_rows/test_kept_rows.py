"""Rows that pipelines keep, as clients see them: listed, corrected, summed and withdrawn."""

from dataclasses import replace
from datetime import timedelta
from decimal import Decimal
from typing import Any

from penstock.datastore.clock import Clock, wall_clock
from penstock.datastore.store import Store
from tests.schema.kept_rows.energy import (
    ENERGY,
    ROWS,
    WITHDRAW,
    keep_energy,
    list_rows,
    list_totals,
    meter,
    read_energy,
    read_sums,
    run_rows,
)
from tests.support.consistency_check import contents
from tests.support.graphql_client import ROOT, Ask, as_caller

TX, CA = "/usa/tx", "/usa/ca"
JANUARY = "2025-01-01T00:00:00.000Z"
READER = as_caller("ron", "/usa/tx=reader")
CONTRIBUTOR = as_caller("con", "/usa/tx=contributor")


async def keep_three(ask: Ask) -> str:
    pipeline = await keep_energy(ask)
    await run_rows(
        ask,
        pipeline,
        meter(TX, "2025-01-01", 10),
        meter(CA, "2025-01-01", "0.1"),
        meter(TX, "2025-02-01", 200),
    )
    return pipeline


async def test_rows_of_an_execution_are_kept_in_the_order_of_their_keys(ask: Ask) -> None:
    pipeline = await keep_three(ask)
    found = (await list_rows(ask, pipeline))["nodes"]
    assert [one["key"] for one in found] == [
        [CA, JANUARY],
        [TX, JANUARY],
        [TX, "2025-02-01T00:00:00.000Z"],
    ]
    assert found[0]["values"] == {
        "plant": CA,
        "month": JANUARY,
        "kwh": Decimal("0.15"),
        "high": False,
    }
    assert [one["number"] for one in found] == [2, 1, 3]
    assert {one["pipelineVersion"] for one in found} == {1}
    assert [one["time"] for one in found][2] == "2025-02-01T00:00:00.000Z"


async def test_the_same_key_corrects_a_row_and_keeps_its_id(ask: Ask) -> None:
    pipeline = await keep_three(ask)
    before = (await list_rows(ask, pipeline))["nodes"]
    await run_rows(ask, pipeline, meter(TX, "2025-01-01", 20))
    after = (await list_rows(ask, pipeline))["nodes"]
    assert [one["id"] for one in after] == [one["id"] for one in before]
    assert [str(one["values"]["kwh"]) for one in after] == ["0.15", "30", "300"]
    assert await read_sums(ask, pipeline) == {"": "330.15"}


async def test_totals_are_exact_by_time_and_by_outputs(ask: Ask) -> None:
    pipeline = await keep_three(ask)
    assert await read_sums(ask, pipeline, every="MONTH") == {
        "2025-01-01": "15.15",
        "2025-02-01": "300",
    }
    assert await read_sums(ask, pipeline, every="YEAR", by=["plant"]) == {
        f"2025-01-01 {CA}": "0.15",
        f"2025-01-01 {TX}": "315",
    }
    functions = ("COUNT", "MIN", "MAX", "AVG")
    measures = [{"output": "kwh", "function": one} for one in functions]
    (total,) = (await list_totals(ask, pipeline, measures=measures))["nodes"]
    assert total["measures"] == [
        {"name": "count_kwh", "value": "3"},
        {"name": "min_kwh", "value": "0.15"},
        {"name": "max_kwh", "value": "300"},
        {"name": "avg_kwh", "value": "105.05"},
    ]


async def test_a_reader_sees_the_rows_of_their_groups_and_no_total_of_others(ask: Ask) -> None:
    pipeline = await keep_three(ask)
    assert await read_energy(ask, pipeline, READER) == {
        f"{TX} 2025-01": "15",
        f"{TX} 2025-02": "300",
    }
    assert await read_sums(ask, pipeline, READER, every="MONTH") == {
        "2025-01-01": "15",
        "2025-02-01": "300",
    }


async def test_rows_are_chosen_by_group_time_and_values(ask: Ask) -> None:
    pipeline = await keep_three(ask)
    everything = {f"{CA} 2025-01": "0.15", f"{TX} 2025-01": "15", f"{TX} 2025-02": "300"}
    cases: list[tuple[dict[str, Any], set[str]]] = [
        ({"group": "/usa"}, set()),
        ({"group": "/usa", "below": True}, set(everything)),
        ({"group": TX}, {f"{TX} 2025-01", f"{TX} 2025-02"}),
        ({"from": "2025-02-01T00:00:00Z"}, {f"{TX} 2025-02"}),
        ({"to": "2025-02-01T00:00:00Z"}, {f"{CA} 2025-01", f"{TX} 2025-01"}),
        ({"where": [{"output": "kwh", "gte": 15, "lt": 300}]}, {f"{TX} 2025-01"}),
        ({"where": [{"output": "kwh", "eq": 0.15}]}, {f"{CA} 2025-01"}),
        ({"where": [{"output": "high", "eq": True}]}, {f"{TX} 2025-02"}),
        ({"where": [{"output": "plant", "in": [CA, "/none"]}]}, {f"{CA} 2025-01"}),
    ]
    for arguments, expected in cases:
        found = await read_energy(ask, pipeline, **arguments)
        assert found == {name: everything[name] for name in expected}, arguments


async def test_rows_are_walked_both_ways_one_at_a_time_in_one_snapshot(ask: Ask) -> None:
    pipeline = await keep_three(ask)
    wanted = [one["key"] for one in (await list_rows(ask, pipeline))["nodes"]]
    for size, behind, more, cursor in (
        ("first", "after", "hasNextPage", "endCursor"),
        ("last", "before", "hasPreviousPage", "startCursor"),
    ):
        page_size: dict[str, Any] = {size: 1}
        page = await list_rows(ask, pipeline, **page_size)
        walked = [page["nodes"][0]["key"]]
        if size == "first":
            await run_rows(ask, pipeline, meter(CA, "2026-01-01", 1))
        while page["pageInfo"][more]:
            following: dict[str, Any] = {size: 1, behind: page["pageInfo"][cursor]}
            page = await list_rows(ask, pipeline, **following)
            walked += [one["key"] for one in page["nodes"]]
        if size == "first":
            assert walked == wanted
            wanted.insert(1, [CA, "2026-01-01T00:00:00.000Z"])
        else:
            assert walked == wanted[::-1]


async def test_totals_are_walked_both_ways_one_at_a_time(ask: Ask) -> None:
    pipeline = await keep_three(ask)
    wanted = (await list_totals(ask, pipeline, every="MONTH", by=["plant"]))["nodes"]
    assert len(wanted) == 3
    for size, behind, more, cursor, order in (
        ("first", "after", "hasNextPage", "endCursor", wanted),
        ("last", "before", "hasPreviousPage", "startCursor", wanted[::-1]),
    ):
        same: dict[str, Any] = {"every": "MONTH", "by": ["plant"], size: 1}
        page = await list_totals(ask, pipeline, **same)
        walked = page["nodes"]
        while page["pageInfo"][more]:
            page = await list_totals(ask, pipeline, **same, **{behind: page["pageInfo"][cursor]})
            walked += page["nodes"]
        assert walked == order


async def test_withdrawn_rows_are_in_no_list_and_no_total_until_they_are_made_again(
    ask: Ask,
) -> None:
    pipeline = await keep_three(ask)
    key = [TX, "1735689600000"]
    done = await ask.input(WITHDRAW, pipelineId=pipeline, keys=[key], reason="a broken meter")
    assert done == {"__typename": "WithdrawRowsPayload", "count": 1, "pipeline": {"id": pipeline}}
    assert await read_energy(ask, pipeline) == {f"{CA} 2025-01": "0.15", f"{TX} 2025-02": "300"}
    assert await read_sums(ask, pipeline) == {"": "300.15"}
    again = await ask.input(WITHDRAW, pipelineId=pipeline, keys=[key], reason="twice")
    assert (again["code"], again["positions"]) == ("NOT_FOUND", [0])
    await run_rows(ask, pipeline, meter(TX, "2025-01-01", 2))
    assert await read_sums(ask, pipeline) == {"": "303.15"}


async def test_rows_are_withdrawn_as_an_execution_made_them(ask: Ask) -> None:
    pipeline = await keep_three(ask)
    made = await run_rows(ask, pipeline, meter(TX, "2025-03-01", 1), meter(TX, "2025-01-01", 4))
    await run_rows(ask, pipeline, meter(TX, "2025-03-01", 2))
    done = await ask.input(
        WITHDRAW, pipelineId=pipeline, executionId=made["id"], reason="the wrong file"
    )
    assert done["count"] == 1
    assert await read_energy(ask, pipeline) == {
        f"{CA} 2025-01": "0.15",
        f"{TX} 2025-02": "300",
        f"{TX} 2025-03": "3",
    }


async def test_whoever_does_not_contribute_to_a_rows_group_withdraws_nothing(
    ask: Ask, store: Store
) -> None:
    pipeline = await keep_three(ask)
    before = await contents(store.table)
    keys = [[TX, "1735689600000"], [CA, "1735689600000"]]
    told = await ask.input(WITHDRAW, CONTRIBUTOR, pipelineId=pipeline, keys=keys, reason="x")
    assert (told["code"], told["positions"]) == ("NOT_FOUND", [1])
    # Who is a contributor nowhere learns nothing of rows, and reads none of them.
    for given in (keys, keys[:1], [["none", "1"]]):
        told = await ask.input(WITHDRAW, READER, pipelineId=pipeline, keys=given, reason="x")
        assert told["code"] == "FORBIDDEN"
    stranger = as_caller("eve", "/eu=admin")
    told = await ask.input(WITHDRAW, stranger, pipelineId=pipeline, keys=keys, reason="x")
    assert (told["code"], told["path"]) == ("NOT_FOUND", ["pipelineId"])
    assert await contents(store.table) == before


async def test_rows_that_cannot_be_kept_are_rejected_one_by_one(ask: Ask) -> None:
    pipeline = await keep_energy(ask)
    execution = await run_rows(
        ask,
        pipeline,
        meter("/eu", "2025-01-01", 1),
        meter("", "2025-01-01", 1),
        {"plant": TX, "meter": 1},
        meter("/USA/TX", "2025-01-01", 1),
        meter("usa", "2025-01-01", 1),
        meter(f"{TX}\u200b", "2025-01-01", 1),
        meter("/usa/\u202ext", "2025-01-01", 1),
    )
    problems = [
        (one["row"], one["column"], one["code"]) for one in execution["results"]["problems"]
    ]
    assert problems == [
        (1, "plant", "GROUP_OUT_OF_REACH"),
        (2, "plant", "ROW_WITHOUT_KEY"),
        (3, "month", "NULL_OPERAND"),
        (5, "plant", "GROUP_OUT_OF_REACH"),
        (6, "plant", "GROUP_OUT_OF_REACH"),
        (7, "plant", "GROUP_OUT_OF_REACH"),
    ]
    assert await read_energy(ask, pipeline) == {f"{TX} 2025-01": "1.5"}


async def test_two_rows_with_one_key_fail_their_execution_and_keep_nothing(ask: Ask) -> None:
    pipeline = await keep_energy(ask)
    row = meter(TX, "2025-01-01", 1)
    execution = await run_rows(ask, pipeline, row, meter(CA, "2025-01-01", 1), row)
    assert (execution["state"], execution["code"]) == ("FAILED", "DUPLICATE_KEY")
    assert (await list_rows(ask, pipeline))["nodes"] == []


async def test_what_identifies_rows_must_be_outputs_with_keys(ask: Ask) -> None:
    await ask.create_groups()
    create = """mutation($input: CreatePipelineInput!) { createPipeline(input: $input) {
      ...on ValidationProblem { problems { path message } } } }"""
    unkeyed = [{**one, "outputs": [{"index": 0, "type": "STRING"}]} for one in ENERGY["transforms"]]
    cases: list[tuple[dict[str, Any], list[str]]] = [
        ({"rows": {"key": []}}, ["rows.key"]),
        ({"rows": {"key": ["plant", "plant"]}}, ["rows.key"]),
        ({"rows": {"key": ["none"]}}, ["rows.key.0"]),
        ({"rows": {"key": ["plant"], "time": "kwh"}}, ["rows.time"]),
        ({"rows": {"key": ["plant"], "group": "month"}}, ["rows.group"]),
        ({"rows": {"key": ["plant"], "keepDays": 0}}, ["rows.keepDays"]),
        ({"rows": {"key": ["plant"], "keepDays": -1}}, ["rows.keepDays"]),
        ({"rows": {"key": ["plant"], "keepDays": 36_501}}, ["rows.keepDays"]),
        (
            {"rows": {"key": ["plant"], "group": "none", "time": "none"}},
            ["rows.time", "rows.group"],
        ),
        ({"transforms": unkeyed, "rows": {"key": ["plant"]}}, ["rows.key.0", "rows"]),
    ]
    for changes, paths in cases:
        told = await ask.input(
            create, group="/usa", name="Bad", tags=[], transformer={**ENERGY, **changes}
        )
        found = [".".join(one["path"][1:]) for one in told["problems"]]
        assert [one for one in found if one.startswith("rows")] == paths, changes


async def test_a_past_with_rows_that_have_left_is_refused(ask: Ask, store: Store) -> None:
    pipeline = await keep_energy(ask, rows={**ENERGY["rows"], "keepDays": 1})
    await run_rows(ask, pipeline, meter(TX, "2025-01-01", 10), meter(CA, "2025-03-01", 3))
    first = (await list_rows(ask, pipeline, first=1))["pageInfo"]["endCursor"]
    then = store.clock.timestamp()
    later = Clock(lambda: wall_clock() + timedelta(days=2))
    assert await replace(store, clock=later).drop_old_rows() == 1
    assert (await list_rows(ask, pipeline))["nodes"] == []
    latest = "2025-03-01T00:00:00Z"
    for arguments in ({"asAt": then}, {"after": first}, {"asAt": then, "from": latest}):
        assert (await ask(ROWS, {"id": pipeline, **arguments})).code == "SNAPSHOT_GONE"
    since: dict[str, Any] = {"asAt": then, "from": "2025-03-01T00:00:00.001Z"}
    assert (await list_rows(ask, pipeline, **since))["nodes"] == []
    keeping = "query($id: ID!) { pipeline(id: $id) { transformer { rows { keepDays } } } }"
    shown = (await ask(keeping, {"id": pipeline})).value
    assert shown == {"transformer": {"rows": {"keepDays": 1}}}


async def test_a_pipeline_that_keeps_no_rows_has_none(ask: Ask) -> None:
    pipeline = await keep_energy(ask, rows=None)
    await run_rows(ask, pipeline, meter(TX, "2025-01-01", 1))
    assert (await list_rows(ask, pipeline, ROOT))["nodes"] == []
    assert (await list_totals(ask, pipeline))["nodes"] == []
