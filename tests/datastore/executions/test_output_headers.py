"""The headings of an execution's output."""

import pytest

from penstock.datastore.executions.plans.plans import build_plan
from penstock.datastore.records import Output, Transform, Transformer, ValueType


@pytest.mark.parametrize(
    ("outputs", "headings"),
    [
        ([("a", "A"), (None, "B"), (None, None)], ["a", "B", "output 2"]),
        ([(None, "co2"), (None, "co2"), (None, "co2 ")], ["output 0", "output 1", "co2 "]),
        ([("a", None), (None, "a")], ["a", "output 1"]),
        ([("a", "same"), (None, "same")], ["a", "same"]),
        ([(None, "output 1"), (None, None)], ["output 1", "output 1'"]),
        ([("output 1", None), (None, "x"), (None, "x")], ["output 1", "output 1'", "output 2"]),
    ],
)
def test_no_two_outputs_have_the_same_heading(
    outputs: list[tuple[str | None, str | None]], headings: list[str]
) -> None:
    transforms = [
        Transform(
            index=n,
            formula="1",
            outputs=(Output(index=0, key=key, label=label, type=ValueType.NUMBER),),
        )
        for n, (key, label) in enumerate(outputs)
    ]
    plan = build_plan(Transformer(parameters=(), transforms=tuple(transforms)))
    assert [step.name for step in plan.steps] == headings
    assert len(set(headings)) == len(headings)
