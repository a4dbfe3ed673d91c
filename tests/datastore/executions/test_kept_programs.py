"""A pipeline that runs again and again is compiled once, as long as it stays as it is."""

from typing import Any

import pytest

from penstock.datastore.executions.create import ExecutionRequest
from penstock.datastore.executions.plans import programs
from penstock.datastore.records import Output, Parameter, Transform, Transformer, ValueType
from penstock.datastore.store import Store
from penstock.transform.program import Program
from tests.support.sample_resources import USA, create_groups, on_sqlite

pytestmark = on_sqlite

X = Parameter(index=0, key="x", type=ValueType.NUMBER)


def content(formula: str) -> dict[str, Any]:
    outputs = (Output(index=0, key="y", type=ValueType.NUMBER),)
    transform = Transform(index=0, formula=formula, outputs=outputs)
    made = Transformer(parameters=(X,), transforms=(transform,))
    return {"name": "p", "tags": (), "transformer": made}


async def test_the_same_plan_is_compiled_once_and_another_one_anew(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    compiled = list[str]()

    def compile_counted(plan: Any, *given: Any) -> Program:
        compiled.append(plan.steps[0].formula)
        return Program(plan, *given)

    monkeypatch.setattr(programs, "Program", compile_counted)
    session = await create_groups(store, USA)
    pipeline = await session.pipelines.writing.create(USA, content(":x+271"), None)
    wanted = ExecutionRequest(pipeline_id=pipeline.id)

    async def run(number: int) -> Any:
        execution = await session.executions.inline.run(wanted, [{"x": number}])
        output = await session.executions.inline_output.one(execution)
        assert output is not None
        return output.rows[0]["y"]

    assert [await run(1), await run(2)] == [272, 273]
    assert compiled == [":x+271"]
    changed = {"transformer": content(":x+314")["transformer"]}
    await session.pipelines.writing.update(pipeline.id, 1, changed)
    assert [await run(3), await run(4)] == [317, 318]
    assert compiled == [":x+271", ":x+314"]
