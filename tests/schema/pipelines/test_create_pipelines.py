"""Pipelines created in one call: a result for each input, in order, whatever happens to others."""

from dataclasses import replace
from typing import Any, TypeVar

from penstock.datastore.errors import Unavailable
from penstock.schema import schema
from penstock.schema.engine.documents import core_schema
from penstock.schema.engine.operations import OperationRequest
from tests.support.consistency_check import contents, faults
from tests.support.graphql_client import Ask, as_caller, draft, engine
from tests.support.table_interceptors import InterceptedTable

T = TypeVar("T")

CREATE_ALL = """mutation($inputs: [CreatePipelineInput!]!) { createPipelines(inputs: $inputs) {
  __typename
  ...on CreatePipelinePayload { pipeline { id name version groups } }
  ...on UserError { code path message }
  ...on NameTaken { holder group }
  ...on ValidationProblem { problems { path } }
} }"""
USA = as_caller("uma", "/usa=contributor")


def inputs(*names: str, **more: Any) -> list[dict[str, Any]]:
    return [draft(name, "a=1", group="/usa", **more) for name in names]


async def create_all(ask: Ask, given: list[dict[str, Any]]) -> list[Any]:
    answer = await ask(CREATE_ALL, {"inputs": given}, USA)
    assert answer.errors == ()
    found: list[Any] = answer.data["createPipelines"]
    return found


def kinds(results: list[Any]) -> list[str]:
    return [one["__typename"] for one in results]


async def test_a_hundred_pipelines_are_created_in_order(ask: Ask) -> None:
    await ask.create_groups()
    names = [f"trips {number}" for number in range(100)]
    results = await create_all(ask, inputs(*names))
    assert [one["pipeline"]["name"] for one in results] == names
    assert {one["pipeline"]["version"] for one in results} == {1}
    assert await faults(ask.store.table) == []


async def test_no_inputs_have_no_results(ask: Ask) -> None:
    assert await create_all(ask, []) == []


async def test_more_than_a_hundred_inputs_are_refused_and_create_nothing(ask: Ask) -> None:
    await ask.create_groups()
    before = await contents(ask.store.table)
    answer = await ask(CREATE_ALL, {"inputs": inputs(*map(str, range(101)))}, USA)
    (error,) = answer.errors
    assert error["extensions"]["code"] == "BAD_USER_INPUT"
    assert await contents(ask.store.table) == before


async def test_a_failure_stays_in_its_place_and_stops_no_other(ask: Ask) -> None:
    await ask.create_groups()
    taken = await ask.make("/usa", "taken")
    given = [
        *inputs("one"),
        *inputs("taken"),
        *inputs(""),
        *[{**one, "group": "/eu"} for one in inputs("foreign")],
        *inputs("two"),
    ]
    results = await create_all(ask, given)
    assert kinds(results) == [
        "CreatePipelinePayload",
        "NameTaken",
        "ValidationProblem",
        "NotFound",
        "CreatePipelinePayload",
    ]
    assert (results[1]["holder"], results[1]["group"]) == (taken, "/usa")
    assert results[2]["problems"] == [{"path": ["name"]}]
    assert await faults(ask.store.table) == []


async def test_one_of_the_inputs_with_one_name_wins(ask: Ask) -> None:
    await ask.create_groups()
    results = await create_all(ask, inputs("same", "same", "same", "other"))
    assert sorted(kinds(results[:3])) == ["CreatePipelinePayload", "NameTaken", "NameTaken"]
    (winner,) = [one["pipeline"]["id"] for one in results[:3] if "pipeline" in one]
    assert [one["holder"] for one in results[:3] if "holder" in one] == [winner, winner]
    assert results[3]["__typename"] == "CreatePipelinePayload"
    assert await faults(ask.store.table) == []


async def test_a_repeated_call_with_keys_gives_the_same_pipelines(ask: Ask) -> None:
    await ask.create_groups()
    given = [{**one, "idempotencyKey": f"k{n}"} for n, one in enumerate(inputs("a", "b", "c"))]
    first = await create_all(ask, given)
    before = await contents(ask.store.table)
    assert await create_all(ask, given) == first
    assert await contents(ask.store.table) == before


async def test_a_store_that_fails_once_leaves_one_result_null(ask: Ask) -> None:
    await ask.create_groups()

    class FailingTable(InterceptedTable):
        """Does not answer the write of one pipeline."""

        async def transact(self, operations: Any) -> float:
            if "'broken'" in repr(operations):
                raise Unavailable("The store did not answer.")
            return await self._table.transact(operations)

    failing = Ask(replace(ask.store, table=FailingTable(ask.store.table)))
    answer = await failing(CREATE_ALL, {"inputs": inputs("one", "broken", "two")}, USA)
    one, broken, two = answer.data["createPipelines"]
    assert (one["pipeline"]["name"], broken, two["pipeline"]["name"]) == ("one", None, "two")
    (error,) = answer.errors
    assert error["path"] == ["createPipelines", 1]
    assert error["extensions"]["code"] == "SERVICE_UNAVAILABLE"
    assert await faults(ask.store.table) == []


def test_each_result_is_one_of_a_single_create() -> None:
    fields = core_schema(schema).mutation_type.fields  # type: ignore[union-attr]
    assert str(fields["createPipelines"].type) == f"[{fields['createPipeline'].type}]!".replace(
        "!]", "]"
    )


def test_the_cost_is_the_sum_of_the_inputs() -> None:
    costs = []
    for count in (1, 2, 100):
        given = inputs(*map(str, range(count)))
        plain = CREATE_ALL.partition("...on")[0] + "} }"
        request = OperationRequest(query=plain, variables={"inputs": given})
        costs.append(engine().prepare(request).cost)
    # Three for each input: the pipeline, and two for the values of its variables.
    assert costs == [3, 6, 310]
