"""Labels of versions, as clients set, read and remove them."""

from typing import Any

import pytest

from tests.support.consistency_check import contents
from tests.support.graphql_client import Ask, as_caller

SET = """mutation($input: SetVersionLabelInput!) { setVersionLabel(input: $input) { __typename
  ...on SetVersionLabelPayload { resource { ...on Pipeline { labels { label version setBy } } } }
  ...on UserError { code } } }"""
REMOVE = """mutation($input: RemoveVersionLabelInput!) { removeVersionLabel(input: $input) {
  ...on RemoveVersionLabelPayload { resource { ...on Pipeline { labels { label } } } }
  ...on UserError { code } } }"""
SHOWN = """query($id: ID!, $first: Int, $after: String) { pipeline(id: $id) {
  versionLabelled(label: "AUDITED") { version description labels }
  none: versionLabelled(label: "nope") { version }
  versions(first: $first, after: $after) {
    nodes { version labels } pageInfo { endCursor hasNextPage } } } }"""
HISTORY = """query($id: ID!) { pipeline(id: $id) {
  history(first: 5) { nodes { action label version } } } }"""
RESTORE = """mutation($input: RestoreVersionInput!) { restoreVersion(input: $input) {
  ...on RestoreVersionPayload { resource { ...on Pipeline { version description } } }
  ...on UserError { code } } }"""


async def read_pages(ask: Ask, id: str, size: int) -> list[dict[str, Any]]:
    found, after, more = [], None, True
    while more:
        page = (await ask(SHOWN, {"id": id, "first": size, "after": after})).value["versions"]
        found += page["nodes"]
        after, more = page["pageInfo"]["endCursor"], page["pageInfo"]["hasNextPage"]
    return found


async def test_a_label_is_shown_where_versions_are_and_names_them(ask: Ask) -> None:
    await ask.create_groups()
    id = await ask.make("/usa", "factors", description="of 2024")
    await ask.change(id, 1, description="of 2025")
    labelled = await ask.input(SET, id=id, version=1, label="audited")
    assert labelled["resource"]["labels"] == [{"label": "audited", "version": 1, "setBy": "root"}]
    await ask.input(SET, id=id, version=1, label="2024")
    shown = (await ask(SHOWN, {"id": id, "first": 5})).value
    assert shown["versionLabelled"] == {
        "version": 1,
        "description": "of 2024",
        "labels": ["2024", "audited"],
    }
    assert shown["none"] is None
    assert shown["versions"]["nodes"] == [
        {"version": 2, "labels": []},
        {"version": 1, "labels": ["2024", "audited"]},
    ]
    assert await read_pages(ask, id, 1) == shown["versions"]["nodes"]
    restored = await ask.input(RESTORE, id=id, label="Audited", expectedVersion=2)
    assert restored["resource"] == {"version": 3, "description": "of 2024"}
    bare = await ask.input(REMOVE, id=id, label="AUDITED")
    assert bare["resource"]["labels"] == [{"label": "2024"}]
    trail = (await ask(HISTORY, {"id": id})).value["history"]["nodes"]
    assert trail == [
        {"action": "LABEL_REMOVED", "label": "AUDITED", "version": None},
        {"action": "LABEL_SET", "label": "2024", "version": 1},
        {"action": "LABEL_SET", "label": "audited", "version": 1},
    ]


@pytest.mark.parametrize(
    ("input", "code"),
    [
        ({"label": "nope"}, "NOT_FOUND"),
        ({"label": "audited", "version": 1}, "BAD_USER_INPUT"),
        ({}, "BAD_USER_INPUT"),
    ],
)
async def test_a_version_is_restored_by_one_name_of_it(
    ask: Ask, input: dict[str, Any], code: str
) -> None:
    await ask.create_groups()
    id = await ask.make("/usa", "factors")
    await ask.input(SET, id=id, version=1, label="audited")
    before = await contents(ask.store.table)
    refused = await ask.input(RESTORE, id=id, expectedVersion=1, **input)
    assert refused == {"code": code}
    assert await contents(ask.store.table) == before


async def test_a_reader_sees_labels_and_sets_none(ask: Ask) -> None:
    await ask.create_groups()
    id = await ask.make("/usa", "factors")
    await ask.input(SET, id=id, version=1, label="audited")
    before = await contents(ask.store.table)
    reader = as_caller("rita", "/usa=reader")
    for document, more in ((SET, {"version": 1}), (REMOVE, {})):
        refused = await ask.input(document, reader, id=id, label="audited", **more)
        assert refused["code"] == "FORBIDDEN"
    assert await contents(ask.store.table) == before
    shown = (await ask(SHOWN, {"id": id, "first": 1}, reader)).value
    assert shown["versions"]["nodes"] == [{"version": 1, "labels": ["audited"]}]


LABEL = (
    """mutation($input: SetVersionLabelInput!) { setVersionLabel(input: $input) { __typename } }"""
)
CREATE_CALCULATION = """mutation($input: CreateCalculationInput!) {
  createCalculation(input: $input) { ...on CreateCalculationPayload { calculation { id } } } }"""
UPDATE_CALCULATION = """mutation($input: UpdateCalculationInput!) {
  updateCalculation(input: $input) {
    ...on UpdateCalculationPayload { calculation { version } } } }"""
EVALUATE = """query($input: EvaluateInput!) { evaluate(input: $input) {
  ...on EvaluatePayload { version values { text } } ...on UserError { code path } } }"""
DRY_RUN = """query($input: EvaluatePipelineInput!) { evaluatePipeline(input: $input) {
  ...on EvaluatePipelinePayload { version results { rows } }
  ...on UserError { code path } } }"""
WRONG_NAMES: list[dict[str, Any]] = [
    {"version": 1, "label": "audited"},
    {"label": "nope"},
    {"version": 3},
]
"""Names of versions that name none."""
REFUSALS = [
    {"code": "BAD_USER_INPUT", "path": ["version"]},
    {"code": "NOT_FOUND", "path": ["label"]},
    {"code": "NOT_FOUND", "path": ["version"]},
]


NUMBER: dict[str, Any] = {"parameters": [], "outputs": [{"index": 0, "type": "NUMBER"}]}


def _give(formula: str) -> dict[str, Any]:
    """A transformer whose one output is the value of a formula."""
    outputs = [{"index": 0, "key": "value", "type": "NUMBER"}]
    return {
        "parameters": [{"index": 0, "key": "n", "type": "NUMBER"}],
        "transforms": [{"index": 0, "formula": formula, "outputs": outputs}],
    }


async def test_a_calculation_is_evaluated_in_the_version_with_a_label(ask: Ask) -> None:
    await ask.create_groups()
    made = await ask.input(CREATE_CALCULATION, group="/usa", name="two", formula="2", **NUMBER)
    id = made["calculation"]["id"]
    changed = await ask.input(UPDATE_CALCULATION, id=id, expectedVersion=1, formula="3")
    assert changed["calculation"]["version"] == 2
    await ask.input(LABEL, id=id, version=1, label="audited")
    for subject in ({"id": id}, {"name": "two", "group": "/usa"}):
        for named, version, text in (
            ({"label": "AUDITED"}, 1, "2"),
            ({"version": 1}, 1, "2"),
            ({"version": 2}, 2, "3"),
            ({}, 2, "3"),
        ):
            found = await ask.input(EVALUATE, **subject, **named, rows=[{}])
            assert found == {"version": version, "values": [{"text": text}]}
        for wrong, refusal in zip(WRONG_NAMES, REFUSALS, strict=True):
            assert await ask.input(EVALUATE, **subject, **wrong, rows=[{}]) == refusal


async def test_a_pipeline_runs_dry_in_the_version_with_a_label(ask: Ask) -> None:
    await ask.create_groups()
    id = await ask.make("/usa", "two", transformer=_give("2"))
    await ask.change(id, 1, transformer=_give("3"))
    await ask.input(LABEL, id=id, version=1, label="audited")
    for named, version, value in (({"label": "AUDITED"}, 1, 2), ({"version": 1}, 1, 2), ({}, 2, 3)):
        found = await ask.input(DRY_RUN, id=id, **named, rows=[{"n": 1}])
        assert found == {"version": version, "results": {"rows": [{"value": value}]}}
    for wrong, refusal in zip(WRONG_NAMES, REFUSALS, strict=True):
        assert await ask.input(DRY_RUN, id=id, **wrong, rows=[{"n": 1}]) == refusal


async def test_a_draft_has_no_labels(ask: Ask) -> None:
    await ask.create_groups()
    calculation, rows = {"formula": "1", **NUMBER}, [{"n": 1}]
    refusal = {"code": "BAD_USER_INPUT", "path": ["version"]}
    assert await ask.input(EVALUATE, draft=calculation, label="x", rows=rows) == refusal
    draft = {"draft": _give("1"), "group": "/usa"}
    assert await ask.input(DRY_RUN, **draft, label="x", rows=rows) == refusal
    assert await ask.input(DRY_RUN, **draft, version=1, rows=rows) == refusal
