"""A formula is shown with the names of today, so that saving what one reads means the same."""

from typing import Any

import pytest

from tests.support.graphql_client import Ask, as_caller

NUMBER = {"index": 0, "type": "NUMBER"}
X = {"index": 0, "key": "x", "type": "NUMBER", "required": True}
CREATE = """mutation($input: CreateCalculationInput!) { createCalculation(input: $input) {
  ...on CreateCalculationPayload { calculation { id formula } } ...on UserError { message } } }"""
UPDATE = """mutation($input: UpdateCalculationInput!) { updateCalculation(input: $input) {
  ...on UpdateCalculationPayload { calculation { id version formula } }
  ...on UserError { message } ...on ValidationProblem { problems { code } } } }"""
DELETE = (
    """mutation($id: ID!) { deleteCalculation(input: {id: $id, force: true}) { __typename } }"""
)
PIPELINE = """mutation($input: CreatePipelineInput!) { createPipeline(input: $input) {
  ...on CreatePipelinePayload { pipeline { id } } ...on UserError { message } } }"""
CHANGE = """mutation($input: UpdatePipelineInput!) { updatePipeline(input: $input) {
  ...on UpdatePipelinePayload { pipeline { transformer { transforms { formula } } } }
  ...on UserError { message } ...on ValidationProblem { problems { code } } } }"""
SHOW = """query($id: ID!) { pipeline(id: $id) { transformer { transforms { formula } }
  versions(first: 5) { nodes { transformer { transforms { formula } } } }
  versionNumbered(version: 1) { transformer { transforms { formula } } } } }"""
DIFF = """query($id: ID!) { pipeline(id: $id) { diff(from: 1, to: 2) { path before after } } }"""
LIST = """query { pipelines(group: "/usa") { nodes { transformer { transforms { formula } } } } }"""
RUN = """mutation($id: ID!) {
  createExecution(input: {pipelineId: $id, mode: INLINE, rows: [{x: 1}]}) {
  ...on CreateExecutionPayload { execution { results { rows } } }
  ...on ValidationProblem { problems { code } } } }"""
GRANT = """mutation($id: ID!) {
  grantPipeline(input: {id: $id, group: "/eu"}) { __typename } }"""


@pytest.fixture
async def ask(ask: Ask) -> Ask:
    await ask.create_groups("/usa", "/eu")
    return ask


async def create(ask: Ask, name: str, formula: str) -> str:
    parameters = [X] if ":x" in formula else []
    fields = {"name": name, "formula": formula, "parameters": parameters, "outputs": [NUMBER]}
    made = (await ask(CREATE, {"input": {"group": "/usa", "tags": [], **fields}})).value
    return str(made["calculation"]["id"])


async def update(ask: Ask, id: str, version: int, **fields: Any) -> Any:
    input = {"id": id, "expectedVersion": version, **fields}
    return (await ask(UPDATE, {"input": input})).value


def transformer(*formulas: str) -> dict[str, Any]:
    transforms = [
        {"index": n, "formula": text, "outputs": [{**NUMBER, "key": f"y{n}"}]}
        for n, text in enumerate(formulas)
    ]
    return {"parameters": [X], "transforms": transforms}


async def pipeline(ask: Ask, *formulas: str) -> str:
    input = {"group": "/usa", "name": "p", "tags": [], "transformer": transformer(*formulas)}
    made = (await ask(PIPELINE, {"input": input})).value
    return str(made["pipeline"]["id"])


async def save(ask: Ask, id: str, version: int, *formulas: str) -> Any:
    input = {"id": id, "expectedVersion": version, "transformer": transformer(*formulas)}
    return (await ask(CHANGE, {"input": input})).value


def formulas_of(shown: Any) -> list[str]:
    return [one["formula"] for one in shown["transformer"]["transforms"]]


async def test_what_is_read_is_saved_with_the_same_meaning_after_a_rename(ask: Ask) -> None:
    old = await create(ask, "ef", ":x * 2")
    made = await pipeline(ask, ":x + #ef(:x)\n  * #EF( 1 )", ":x")
    await update(ask, old, 1, name="ef2")
    await create(ask, "ef", ":x * 1000")
    shown = (await ask(SHOW, {"id": made})).value
    now = [":x + #ef2(:x)\n  * #ef2( 1 )", ":x"]
    assert formulas_of(shown) == now
    assert formulas_of(shown["versionNumbered"]) == now
    listed = (await ask(LIST, {})).value
    assert formulas_of(listed["nodes"][0]) == now
    before = (await ask(RUN, {"id": made})).value["execution"]["results"]["rows"]
    assert before == [{"y0": 5, "y1": 1}]
    saved = await save(ask, made, 1, *formulas_of(shown))
    assert formulas_of(saved["pipeline"]) == now
    assert (await ask(RUN, {"id": made})).value["execution"]["results"]["rows"] == before
    assert (await ask(DIFF, {"id": made})).value["diff"] == []


async def test_a_text_that_is_saved_means_what_its_names_mean_now(ask: Ask) -> None:
    old = await create(ask, "ef", ":x * 2")
    made = await pipeline(ask, "#ef(:x)")
    await update(ask, old, 1, name="ef2")
    await create(ask, "ef", ":x * 1000")
    await save(ask, made, 1, "#ef(:x)")
    ran = (await ask(RUN, {"id": made})).value
    assert ran["execution"]["results"]["rows"] == [{"y0": 1000}]
    path = "/transformer/transforms/0/formula"
    changes = (await ask(DIFF, {"id": made})).value["diff"]
    assert changes == [{"path": path, "before": "#ef2(:x)", "after": "#ef(:x)"}]
    shown = (await ask(SHOW, {"id": made})).value
    assert [formulas_of(one) for one in shown["versions"]["nodes"]] == [["#ef(:x)"], ["#ef2(:x)"]]


async def test_a_name_that_no_formula_can_write_leaves_the_former_one(ask: Ask) -> None:
    old = await create(ask, "ef", ":x * 2")
    made = await pipeline(ask, "#ef(:x)")
    await update(ask, old, 1, name="emission factor")
    await create(ask, "ef", ":x * 1000")
    shown = formulas_of((await ask(SHOW, {"id": made})).value)
    assert shown == ["#ef(:x)"]
    await save(ask, made, 1, *shown, ":x")
    ran = (await ask(RUN, {"id": made})).value
    assert ran["execution"]["results"]["rows"] == [{"y0": 2, "y1": 1}]


async def test_a_calculation_is_shown_with_the_names_of_today(ask: Ask) -> None:
    await create(ask, "base", "1")
    caller = await create(ask, "caller", "#base() + #base(version=1)")
    base = (await ask('query { calculationByName(name: "base", group: "/usa") { id } }')).value
    await update(ask, base["id"], 1, name="basis")
    changed = await update(ask, caller, 1, description="new")
    assert changed["calculation"]["formula"] == "#basis() + #basis(version=1)"
    await ask(DELETE, {"id": base["id"]})
    refused = await update(ask, caller, 2, description="newer")
    assert refused["problems"] == [{"code": "UNKNOWN_CALCULATION"}] * 2


async def test_the_names_of_a_whole_list_take_one_read(ask: Ask) -> None:
    ids = [await create(ask, name, ":x * 2") for name in ("one", "two")]
    await ask.make("/usa", "plain", transformer=transformer(":x"))
    without_names = (await ask(LIST, {})).units.calls
    for number in range(3):
        called = transformer(f"#one(:x) + {number}", "#two(:x)")
        await ask.make("/usa", f"p{number}", transformer=called)
    await update(ask, ids[0], 1, name="first")
    listed = await ask(LIST, {})
    shown = [formulas_of(node) for node in listed.value["nodes"]]
    assert shown[:3] == [[f"#first(:x) + {n}", "#two(:x)"] for n in (2, 1, 0)]
    assert listed.units.calls == without_names + 1


async def test_a_reader_sees_no_name_of_what_is_hidden_from_them(ask: Ask) -> None:
    old = await create(ask, "ef", ":x * 2")
    made = await pipeline(ask, "#ef(:x)")
    grant = (
        """mutation($id: ID!) { grantPipeline(input: {id: $id, group: "/eu"}) { __typename } }"""
    )
    await ask(grant, {"id": made})
    await update(ask, old, 1, name="secret_name")
    reader = as_caller("eve", "/eu=reader")
    shown = (await ask(SHOW, {"id": made}, reader)).value
    assert formulas_of(shown) == ["#ef(:x)"]
    assert formulas_of((await ask(SHOW, {"id": made})).value) == ["#secret_name(:x)"]
