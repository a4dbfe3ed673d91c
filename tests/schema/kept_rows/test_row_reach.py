"""An execution writes, replaces and moves the rows of its creator's groups, and no others."""

from typing import Any

import pytest

from penstock.datastore.executions.files import ingest_key
from penstock.datastore.roles import Caller
from penstock.datastore.store import Store
from tests.datastore.executions.sample_executions import put_file
from tests.schema.executions.test_executions import create_execution, read_record
from tests.schema.kept_rows.energy import WITHDRAW, list_rows
from tests.support.consistency_check import contents
from tests.support.graphql_client import ROOT, Ask, as_caller
from tests.support.old_rows import forget_row_groups

TX, CA = "/usa/tx", "/usa/ca"
READER = as_caller("ron", f"{TX}=reader")
TEXAN = as_caller("tess", f"{TX}=contributor")
NODE = "query($id: ID!) { node(id: $id) { ...on KeptRow { group withdrawn values } } }"


def transformer(**rows: Any) -> dict[str, Any]:
    """A number for each name, in the group `at`."""
    outputs = (("name", "STRING"), ("number", "NUMBER"), ("at", "STRING"))
    return {
        "parameters": [
            {"index": n, "key": key, "type": type} for n, (key, type) in enumerate(outputs)
        ],
        "transforms": [
            {"index": n, "formula": f":{key}", "outputs": [{"index": 0, "key": key, "type": type}]}
            for n, (key, type) in enumerate(outputs)
        ],
        "rows": {"key": ["name"], **rows},
    }


async def keep_numbers(ask: Ask) -> str:
    """A pipeline of /usa that Texans may run, with a row of each group."""
    await ask.create_groups()
    id = await ask.make("/usa", "Numbers", transformer=transformer(group="at"))
    await run(ask, id, ROOT, ("t", 1, TX), ("c", 2, CA), ("u", 3, "/usa"))
    return id


async def run(ask: Ask, id: str, caller: Any, *rows: tuple[str, object, str]) -> Any:
    entries = [{"name": name, "number": number, "at": at} for name, number, at in rows]
    return await create_execution(ask, caller, pipelineId=id, mode="INLINE", rows=entries)


async def numbers(ask: Ask, id: str, caller: Any = ROOT) -> dict[str, tuple[str, str]]:
    found = (await list_rows(ask, id, caller, first=100))["nodes"]
    return {one["key"][0]: (str(one["values"]["number"]), one["group"]) for one in found}


ALL = {"t": ("1", TX), "c": ("2", CA), "u": ("3", "/usa")}


async def test_a_row_of_a_group_out_of_reach_is_rejected(ask: Ask) -> None:
    id = await keep_numbers(ask)
    made = await run(ask, id, TEXAN, ("x", 9, CA), ("y", 9, "/usa"), ("z", 9, TX), ("w", 9, TX))
    problems = [(one["row"], one["code"]) for one in made["results"]["problems"]]
    assert problems == [(1, "GROUP_OUT_OF_REACH"), (2, "GROUP_OUT_OF_REACH")]
    assert await numbers(ask, id) == {**ALL, "z": ("9", TX), "w": ("9", TX)}


async def test_a_row_of_a_group_whose_path_no_new_group_may_have_is_rejected(ask: Ask) -> None:
    id = await keep_numbers(ask)
    paths = (f"{TX}/..", f"{TX}/./{CA}", "/usa/\u202ex")
    made = await run(ask, id, ROOT, *((f"n{n}", 1, path) for n, path in enumerate(paths)))
    assert {one["column"] for one in made["results"]["problems"]} == {"at"}
    assert (len(made["results"]["problems"]), await numbers(ask, id)) == (3, ALL)


async def test_a_row_of_a_group_out_of_reach_is_not_replaced(ask: Ask) -> None:
    id = await keep_numbers(ask)
    for name in ("c", "u"):
        made = await run(ask, id, TEXAN, ("t", 9, TX), (name, 9, TX))
        assert (made["state"], made["code"]) == ("FAILED", "ROW_OUT_OF_REACH")
        assert await numbers(ask, id) == ALL
    await run(ask, id, TEXAN, ("t", 9, TX))
    assert await numbers(ask, id) == {**ALL, "t": ("9", TX)}


async def test_a_narrower_role_counts_below_its_group(ask: Ask) -> None:
    id = await keep_numbers(ask)
    mixed = as_caller("max", "/usa=contributor", f"{CA}=reader")
    made = await run(ask, id, mixed, ("x", 9, CA), ("y", 9, TX))
    assert [one["code"] for one in made["results"]["problems"]] == ["GROUP_OUT_OF_REACH"]
    assert (await run(ask, id, mixed, ("c", 9, TX)))["code"] == "ROW_OUT_OF_REACH"
    assert await numbers(ask, id) == {**ALL, "y": ("9", TX)}


async def test_a_row_that_was_withdrawn_is_free_for_other_groups(ask: Ask) -> None:
    id = await keep_numbers(ask)
    await ask.input(WITHDRAW, ROOT, pipelineId=id, keys=[["c"]], reason="moved")
    assert (await run(ask, id, TEXAN, ("c", 9, TX)))["state"] == "SUCCESS"
    assert await numbers(ask, id) == {**ALL, "c": ("9", TX)}


async def test_rows_of_the_owner_are_kept_for_its_contributors_alone(ask: Ask) -> None:
    await ask.create_groups()
    id = await ask.make("/usa", "Numbers", transformer=transformer())
    with pytest.raises(AssertionError, match="FORBIDDEN"):
        await run(ask, id, TEXAN, ("t", 1, TX))
    assert await numbers(ask, id) == {}
    assert (await run(ask, id, ROOT, ("t", 1, TX)))["state"] == "SUCCESS"


FILES = """query($id: ID!) { pipeline(id: $id) { executions(first: 1) { nodes {
  results { rows problems { row } } inputDownload { status }
  outputDownload { status } errorsDownload { status } } } } }"""
REJECTIONS = """query($id: ID!) { pipeline(id: $id) { executions(first: 1) { nodes {
  rejections { code column rows } } } } }"""
EXPLAIN = """query($id: ID!) { pipeline(id: $id) { executions(first: 1) { nodes {
  explanation(row: 1) { row } } } } }"""


async def test_the_files_of_an_execution_are_for_those_who_read_all_groups(ask: Ask) -> None:
    id = await keep_numbers(ask)
    whole = as_caller("will", "/usa=reader")
    for caller in (ROOT, whole):
        (made,) = (await ask(FILES, {"id": id}, caller)).value["executions"]["nodes"]
        assert len(made["results"]["rows"]) == 3
        downloads = [made[f"{name}Download"] for name in ("input", "output", "errors")]
        assert downloads == [{"status": "READY"}] * 3
    for caller in (READER, TEXAN):
        found = await ask(FILES, {"id": id}, caller)
        (made,) = (found.data or {})["pipeline"]["executions"]["nodes"]
        assert set(made.values()) == {None}
        assert len(made) == 4
        assert {one["extensions"]["code"] for one in found.errors} == {"FORBIDDEN"}
        assert (await ask(EXPLAIN, {"id": id}, caller)).code == "FORBIDDEN"
    await run(ask, id, TEXAN, ("t", 9, TX))
    (made,) = (await ask(FILES, {"id": id}, TEXAN)).value["executions"]["nodes"]
    assert [one["name"] for one in made["results"]["rows"]] == ["t"]


async def assert_files_are_refused(ask: Ask, id: str, caller: Caller) -> None:
    found = await ask(FILES, {"id": id}, caller)
    (made,) = (found.data or {})["pipeline"]["executions"]["nodes"]
    assert set(made.values()) == {None}
    assert {one["extensions"]["code"] for one in found.errors} == {"FORBIDDEN"}
    (told,) = (await ask(REJECTIONS, {"id": id}, caller)).value["executions"]["nodes"]
    assert told == {"rejections": None}


async def test_a_creator_who_calls_with_fewer_roles_does_not_read_the_files(ask: Ask) -> None:
    id = await keep_numbers(ask)
    await run(ask, id, as_caller("will", "/usa=contributor"), ("w", 1, TX), ("v", 2, CA))
    for role in (f"{TX}=reader", f"{TX}=admin"):
        await assert_files_are_refused(ask, id, as_caller("will", role))
    await run(ask, id, as_caller("will", f"{TX}=contributor", f"{CA}=admin"), ("x", 1, CA))
    await assert_files_are_refused(ask, id, as_caller("will", f"{TX}=contributor"))
    for roles in (["/usa=reader"], [f"{TX}=reader", f"{CA}=reader"]):
        (made,) = (await ask(FILES, {"id": id}, as_caller("will", *roles))).value["executions"][
            "nodes"
        ]
        assert [one["name"] for one in made["results"]["rows"]] == ["x"]


async def test_the_files_of_rows_without_a_group_are_for_those_who_read_the_owners(
    ask: Ask,
) -> None:
    await ask.create_groups()
    id = await ask.make("/usa", "Numbers", transformer=transformer())
    await run(ask, id, ROOT, ("t", 1, TX))
    assert await numbers(ask, id, READER) == {}
    await assert_files_are_refused(ask, id, READER)
    whole = as_caller("will", "/usa=reader")
    (made,) = (await ask(FILES, {"id": id}, whole)).value["executions"]["nodes"]
    assert len(made["results"]["rows"]) == len(await numbers(ask, id, whole)) == 1


async def test_files_of_earlier_releases_are_for_those_who_read_the_rows_of_the_owner(
    ask: Ask,
) -> None:
    grouped = await keep_numbers(ask)
    made = await run(ask, grouped, TEXAN, ("t", 9, TX))
    await forget_row_groups(ask.store.table, await read_record(ask.store, made["id"]))
    plain = await ask.make("/usa", "Plain", transformer=transformer())
    kept = await run(ask, plain, ROOT, ("t", 1, TX))
    record = await read_record(ask.store, kept["id"])
    await forget_row_groups(ask.store.table, record, "rowsByGroup")
    for id, caller in ((grouped, TEXAN), (plain, READER)):
        await assert_files_are_refused(ask, id, caller)
        whole = as_caller("will", "/usa=reader")
        (told,) = (await ask(FILES, {"id": id}, whole)).value["executions"]["nodes"]
        assert [one["name"] for one in told["results"]["rows"]] == ["t"]


async def test_reasons_of_rejected_rows_are_told_to_those_who_may_read_them(ask: Ask) -> None:
    id = await keep_numbers(ask)
    await run(ask, id, TEXAN, ("x", 9, CA), ("t", 9, TX))
    for caller in (ROOT, TEXAN):
        (made,) = (await ask(REJECTIONS, {"id": id}, caller)).value["executions"]["nodes"]
        assert made == {"rejections": [{"code": "GROUP_OUT_OF_REACH", "column": "at", "rows": 1}]}
    (made,) = (await ask(REJECTIONS, {"id": id}, READER)).value["executions"]["nodes"]
    assert made == {"rejections": None}


SECRET = b"name,number,c salary 9\n"
TOLD = """query($id: ID!) { pipeline(id: $id) { executions(first: 1) { nodes {
  code stateMessage attempts { note } timeline(last: 1) { nodes { note } } } } } }"""


async def test_what_a_failure_quotes_is_told_to_those_who_may_read_the_input(ask: Ask) -> None:
    id = await keep_numbers(ask)
    begun = await create_execution(ask, ROOT, pipelineId=id)
    await put_file(ask.store.files, ingest_key(await read_record(ask.store, begun["id"])), SECRET)
    await ask.input(START, ROOT, id=begun["id"])
    assert await ask.store.execution_worker("w").run_all() == 1
    (made,) = (await ask(TOLD, {"id": id})).value["executions"]["nodes"]
    message = made["stateMessage"]
    assert "'c salary 9'" in message
    assert made == {
        "code": "UNKNOWN_COLUMN",
        "stateMessage": message,
        "attempts": [{"note": message}],
        "timeline": {"nodes": [{"note": message}]},
    }
    for caller in (READER, TEXAN):
        (made,) = (await ask(TOLD, {"id": id}, caller)).value["executions"]["nodes"]
        assert made == {
            "code": "UNKNOWN_COLUMN",
            "stateMessage": None,
            "attempts": [{"note": None}],
            "timeline": {"nodes": [{"note": None}]},
        }


RETRY = """mutation($input: RetryExecutionInput!) { retryExecution(input: $input) { __typename
  ...on UserError { code message } ...on RetryExecutionPayload { execution { state } } } }"""
START = RETRY.replace("Retry", "Start").replace("retry", "start")


async def test_an_execution_begins_only_for_who_may_write_its_rows_now(
    ask: Ask, store: Store
) -> None:
    id = await keep_numbers(ask)
    both = as_caller("bea", f"{TX}=contributor", f"{CA}=contributor")
    fewer = as_caller("bea", f"{TX}=contributor")
    lasting = await create_execution(ask, both, pipelineId=id, mode="JOB")
    failed = await run(ask, id, both, ("u", 9, CA))
    assert failed["code"] == "ROW_OUT_OF_REACH"
    before = await contents(store.table)
    lower = as_caller("bea", f"{TX}=contributor", f"{CA}=reader")
    for caller, named in ((fewer, "a group out of sight"), (lower, CA)):
        words = f"It writes rows of {named}, which needs the role CONTRIBUTOR there."
        for start, made in ((RETRY, failed), (START, lasting)):
            told = await ask.input(start, caller, id=made["id"])
            assert (told["code"], told["message"]) == ("FORBIDDEN", words)
    assert await contents(store.table) == before
    told = await ask.input(RETRY, both, id=failed["id"])
    assert told["__typename"] == "RetryExecutionPayload"


async def test_a_row_that_moved_out_of_sight_is_no_row_any_more(ask: Ask) -> None:
    id = await keep_numbers(ask)
    (row,) = (await list_rows(ask, id, READER))["nodes"]
    seen = (await ask(NODE, {"id": row["id"]}, READER)).value
    assert (seen["group"], seen["withdrawn"]) == (TX, False)
    await run(ask, id, ROOT, ("t", 5, CA))
    assert (await ask(NODE, {"id": row["id"]}, READER)).data == {"node": None}
    assert (await ask(NODE, {"id": row["id"]}, ROOT)).value["group"] == CA
    assert await numbers(ask, id, READER) == {}
