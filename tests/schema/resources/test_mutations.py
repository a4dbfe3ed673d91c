"""The common behaviour of the mutations of every kind of resource."""

import pytest

from penstock.datastore.store import Store
from tests.support.consistency_check import contents
from tests.support.graphql_client import CREATE, NOUNS, Ask, as_caller, draft, tag_inputs

UPDATE_PROBLEMS = """mutation($input: UpdatePipelineInput!) { updatePipeline(input: $input) {
  ...on ValidationProblem { problems { path message } } } }"""
CREATE_PROBLEMS = UPDATE_PROBLEMS.replace("update", "create").replace("Update", "Create")


@pytest.fixture(params=NOUNS)
def ask(store: Store, request: pytest.FixtureRequest) -> Ask:
    """Ask of each kind of resource what the tests ask of pipelines."""
    return Ask(store, request.param)


async def test_the_same_idempotency_key_gives_the_same_resource(ask: Ask) -> None:
    await ask.create_groups()
    input = draft("one", "a=b", group="/usa", idempotencyKey="key 1")
    first = await ask.input(CREATE, **input)
    assert await ask.input(CREATE, **input) == first
    assert await ask.names("/usa") == ["one"]
    other = await ask.input(CREATE, **{**input, "name": "two"})
    assert (other["__typename"], other["path"]) == ("ValidationProblem", ["idempotencyKey"])
    assert await ask.names("/usa") == ["one"]
    uma = as_caller("uma", "/usa=admin")
    assert (await ask.input(CREATE, uma, **input))["code"] == "NAME_TAKEN"


async def test_only_an_answer_to_a_write_has_a_consistency_token(ask: Ask, store: Store) -> None:
    await ask.create_groups()
    made = await ask(CREATE, {"input": draft("one", group="/usa")})
    assert made.token is not None
    before = await contents(store.table)
    refused = await ask(CREATE, {"input": draft("one", group="/usa")})
    assert refused.value["code"] == "NAME_TAKEN"
    assert refused.token is None
    assert await contents(store.table) == before


async def test_a_group_that_is_left_out_is_the_callers_default(ask: Ask) -> None:
    await ask.create_groups()
    ana = as_caller("ana", "/usa=admin", default_group="/usa/northwest")
    await ask.input(CREATE, ana, **draft("one"))
    assert await ask.names(None, ana) == ["one"]
    assert await ask.names("/usa") == []
    named = '{ pipelineByName(name: "one") { owner } }'
    assert (await ask(named, {}, ana)).value == {"owner": "/usa/northwest"}
    nobody = as_caller("nobody")
    for document in (named, "{ pipelines { nodes { id } } }"):
        assert (await ask(document, {}, nobody)).code == "BAD_USER_INPUT"


async def test_more_than_one_mutation_run_one_after_another(ask: Ask) -> None:
    await ask.create_groups()
    document = """mutation($a: CreatePipelineInput!) {
      a: createPipeline(input: $a) { __typename } b: createPipeline(input: $a) { __typename } }"""
    told = (await ask(document, {"a": draft("one", group="/usa")})).data
    assert [one["__typename"] for one in told.values()] == ["CreatePipelinePayload", "NameTaken"]


TWICE = """mutation($id: ID!) {
  first: updatePipeline(input: {id: $id, expectedVersion: 1, description: "x"}) { ...Seen }
  second: updatePipeline(input: {id: $id, expectedVersion: 2, description: "y"}) { ...Seen }
}
fragment Seen on UpdatePipelinePayload { pipeline { version versions(first: 1) { nodes {
  version pipeline { version description } } } } }"""


async def test_a_field_sees_what_the_field_before_it_wrote(ask: Ask) -> None:
    await ask.create_groups()
    answer = await ask(TWICE, {"id": await ask.make("/usa", "one")})
    for name, version, description in (("first", 2, "x"), ("second", 3, "y")):
        pipeline = answer.data[name]["pipeline"]
        assert pipeline["version"] == version
        latest = {"version": version, "description": description}
        assert pipeline["versions"]["nodes"] == [{"version": version, "pipeline": latest}]


async def test_the_owner_group_is_null_where_the_caller_may_not_know_it(ask: Ask) -> None:
    await ask.create_groups()
    id = await ask.make("/usa", "one")
    grant = "mutation($input: GrantPipelineInput!) { grantPipeline(input: $input) { __typename } }"
    await ask.input(grant, id=id, group="/eu")
    answer = await ask(
        "query($id: ID!) { pipeline(id: $id) { name ownerGroup { path } } }",
        {"id": id},
        as_caller("ben", "/eu=reader"),
    )
    assert answer.value == {"name": "one", "ownerGroup": None}
    assert answer.errors == ()


async def test_a_group_that_is_not_there_cannot_be_granted_even_where_it_would_inherit(
    ask: Ask,
) -> None:
    await ask.create_groups()
    id = await ask.make("/usa", "one")
    grant = """mutation($input: GrantPipelineInput!) { grantPipeline(input: $input) {
      ...on NotFound { path } } }"""
    assert await ask.input(grant, id=id, group="/usa/nowhere") == {"path": ["group"]}


async def test_problems_of_the_form_are_told_with_those_of_the_content(
    ask: Ask, store: Store
) -> None:
    await ask.create_groups()
    id = await ask.make("/usa", "one")
    before = await contents(store.table)
    odd = {"id": id, "expectedVersion": 1, "name": None, "state": None, "tags": tag_inputs("=v")}
    told = (await ask(UPDATE_PROBLEMS, {"input": odd})).value["problems"]
    assert [problem["path"] for problem in told] == [["name"], ["state"], ["tags", "0", "key"]]
    only_state = {"id": id, "expectedVersion": 1, "name": None, "state": "FROZEN"}
    told = (await ask(UPDATE_PROBLEMS, {"input": only_state})).value["problems"]
    assert told == [{"path": ["name"], "message": "must not be null"}]
    odd = draft(" ", group="/usa", idempotencyKey="")
    told = (await ask(CREATE_PROBLEMS, {"input": odd})).value
    assert [problem["path"] for problem in told["problems"]] == [["idempotencyKey"], ["name"]]
    assert await contents(store.table) == before
