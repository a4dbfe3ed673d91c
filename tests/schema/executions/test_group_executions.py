"""The list of the executions of groups as clients see it."""

from typing import Any

import pytest

from penstock.schema.core.relay import GlobalId
from tests.schema.executions.test_executions import (
    READER,
    create_execution,
    create_pipeline,
    create_uploaded_execution,
)
from tests.support.consistency_check import contents
from tests.support.graphql_client import ROOT, Ask, as_caller, tag_inputs

LISTED = """query($group: GroupPath, $below: Boolean, $states: [ExecutionState!], $pipeline: ID,
    $tags: TagFilter, $by: ID, $from: DateTime, $to: DateTime, $endedFrom: DateTime,
    $endedTo: DateTime, $duration: DurationFilter, $order: ExecutionOrder, $first: Int,
    $after: String) {
  executions(group: $group, includeChildGroups: $below, states: $states, pipeline: $pipeline,
    tags: $tags, createdBy: $by, createdFrom: $from, createdTo: $to, endedFrom: $endedFrom,
    endedTo: $endedTo, duration: $duration, order: $order, first: $first, after: $after) {
    nodes { id state pipeline { name } } pageInfo { hasNextPage endCursor } } }"""
STRANGER = as_caller("eve", "/eu=admin")
LONG_AGO, LATER = "2020-01-01T00:00:00Z", "2999-01-01T00:00:00Z"


async def ids(ask: Ask, caller: Any = READER, **given: Any) -> list[str]:
    listed = (await ask(LISTED, {"group": "/usa", **given}, caller)).value
    return [node["id"] for node in listed["nodes"]]


async def test_every_argument_narrows_the_list(ask: Ask) -> None:
    pipeline = await create_pipeline(ask)
    waiting = (await create_execution(ask, pipelineId=pipeline))["id"]
    over = await create_uploaded_execution(ask, pipeline)
    await ask.store.execution_worker("w").run_all()
    both = [over, waiting]
    wanted: list[tuple[dict[str, Any], list[str]]] = [
        ({}, both),
        ({"order": "OLDEST_FIRST"}, both[::-1]),
        ({"order": "ENDED_LAST"}, [over]),
        ({"order": None, "states": None, "tags": None, "first": None}, both),
        ({"states": []}, both),
        ({"states": ["WAITING", "SUCCESS"]}, both),
        ({"states": ["SUCCESS"]}, [over]),
        ({"group": "/usa/northwest"}, both),
        ({"group": "/eu"}, []),
        ({"group": "/", "below": True}, both),
        ({"pipeline": pipeline}, both),
        ({"pipeline": pipeline, "group": None}, both),
        ({"pipeline": pipeline, "group": "/eu"}, []),
        ({"tags": {"all": tag_inputs("a=b")}}, [over]),
        ({"tags": {"none": tag_inputs("a=b")}}, [waiting]),
        ({"by": "root"}, both),
        ({"by": "rita"}, []),
        ({"from": LONG_AGO, "to": LATER}, both),
        ({"to": LONG_AGO}, []),
        ({"from": LATER, "to": LONG_AGO}, []),
        ({"endedFrom": LONG_AGO}, [over]),
        ({"endedFrom": LONG_AGO, "endedTo": LATER, "states": ["WAITING"]}, []),
        ({"endedTo": LONG_AGO, "order": "ENDED_LAST"}, []),
        ({"duration": None}, both),
        ({"duration": {}}, both),
        ({"duration": {"atLeast": 0}}, [over]),
        ({"duration": {"atLeast": None, "atMost": 1e9}, "order": "ENDED_LAST"}, [over]),
        ({"duration": {"atLeast": 1e9}}, []),
        ({"duration": {"atLeast": 0}, "states": ["WAITING"]}, []),
    ]
    for given, found in wanted:
        assert await ids(ask, ROOT, **given) == found, given
    nodes = (await ask(LISTED, {"group": "/usa"}, READER)).value["nodes"]
    assert [(node["state"], node["pipeline"]["name"]) for node in nodes] == [
        ("SUCCESS", "Trips"),
        ("WAITING", "Trips"),
    ]


async def test_a_list_without_a_group_is_that_of_the_callers_own(ask: Ask) -> None:
    made = (await create_execution(ask, pipelineId=await create_pipeline(ask)))["id"]
    caller = as_caller("una", "/usa=reader", "/eu=reader", default_group="/usa")
    assert await ids(ask, caller, group=None) == [made]
    undecided = as_caller("una")
    assert (await ask(LISTED, {}, undecided)).code == "BAD_USER_INPUT"


async def test_a_cursor_opens_only_in_its_own_list(ask: Ask) -> None:
    pipeline = await create_pipeline(ask)
    made = [(await create_execution(ask, pipelineId=pipeline))["id"] for _ in range(3)]
    states = ["WAITING", "FAILED", "SUCCESS"]
    given = {"group": "/usa", "states": states, "first": 1}
    first = (await ask(LISTED, given, READER)).value
    cursor = first["pageInfo"]["endCursor"]
    assert await ids(ask, states=states[::-1], after=cursor) == made[1::-1]
    for other in (
        {"states": states[:2]},
        {"states": states, "by": "root"},
        {"states": states, "duration": {"atMost": 1}},
        {"order": None},
    ):
        answer = await ask(LISTED, {"group": "/usa", "after": cursor, **other}, READER)
        assert answer.code == "BAD_USER_INPUT"


@pytest.mark.parametrize(
    ("given", "code"),
    [
        ({"pipeline": "nonsense"}, "NOT_FOUND"),
        ({"pipeline": GlobalId("Calculation", "x").encode()}, "NOT_FOUND"),
        ({"group": "/nowhere"}, "NOT_FOUND"),
        ({"group": "usa"}, "BAD_USER_INPUT"),
        ({"first": 1_000_000}, "BAD_USER_INPUT"),
        ({"duration": {"atLeast": -0.1}}, "BAD_USER_INPUT"),
        ({"duration": {"atMost": -1}}, "BAD_USER_INPUT"),
        ({"duration": {"atMost": "long"}}, "BAD_USER_INPUT"),
        ({"tags": {"all": tag_inputs("=")}}, "BAD_USER_INPUT"),
    ],
)
async def test_bad_arguments_are_refused_by_their_codes(
    ask: Ask, given: dict[str, Any], code: str
) -> None:
    await create_execution(ask, pipelineId=await create_pipeline(ask))
    before = await contents(ask.store.table)
    assert (await ask(LISTED, {"group": "/usa", **given}, ROOT)).code == code
    assert await contents(ask.store.table) == before


async def test_a_stranger_learns_nothing(ask: Ask) -> None:
    pipeline = await create_pipeline(ask)
    await create_execution(ask, pipelineId=pipeline)
    for given in (
        {"group": "/usa"},
        {"pipeline": pipeline},
        {"group": "/eu", "pipeline": pipeline},
    ):
        assert (await ask(LISTED, given, STRANGER)).code == "NOT_FOUND"
    assert await ids(ask, STRANGER, group="/eu") == []
