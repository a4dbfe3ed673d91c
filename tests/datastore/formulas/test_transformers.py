"""The rules of a transformer."""

from typing import Any

import pytest

from penstock.datastore.formulas.transformers import transformer_problems
from penstock.datastore.records import Output, Parameter, Transform, Transformer, ValueType


def parameter(index: int, key: str = "", **more: Any) -> Parameter:
    return Parameter(index=index, key=key or f"p{index}", type=ValueType.NUMBER, **more)


def output(index: int = 0, key: str | None = None, **more: Any) -> Output:
    return Output(index=index, key=key, type=ValueType.NUMBER, **more)


def transform(index: int, key: str | None = None, **more: Any) -> Transform:
    return Transform(**{"index": index, "formula": "1", "outputs": (output(0, key),), **more})


def paths_of(parameters: list[Parameter], transforms: list[Transform]) -> list[list[str]]:
    problems = transformer_problems(
        Transformer(parameters=tuple(parameters), transforms=tuple(transforms))
    )
    assert all(problem.path[0] == "transformer" for problem in problems)
    return [problem.path[1:] for problem in problems]


def test_a_transformer_that_keeps_the_rules_has_no_problems() -> None:
    assert paths_of([parameter(0), parameter(1)], [transform(0, "a"), transform(1)]) == []


def test_outputs_without_keys_do_not_repeat_a_key() -> None:
    assert paths_of([], [transform(0), transform(1)]) == []


@pytest.mark.parametrize(
    ("parameters", "transforms", "paths"),
    [
        ([], [], [["transforms"]]),
        ([parameter(1)], [transform(0)], [["parameters", "0", "index"]]),
        ([parameter(0), parameter(2)], [transform(0)], [["parameters", "1", "index"]]),
        ([], [transform(1)], [["transforms", "0", "index"]]),
        ([parameter(0, "a"), parameter(1, " A")], [transform(0)], [["parameters", "1", "key"]]),
        ([], [transform(0, "a"), transform(1, "A")], [["transforms", "1", "outputs", "0", "key"]]),
        ([parameter(0, " ")], [transform(0)], [["parameters", "0", "key"]]),
        ([parameter(0, "k" * 129)], [transform(0)], [["parameters", "0", "key"]]),
        ([parameter(0, label="l" * 257)], [transform(0)], [["parameters", "0", "label"]]),
        (
            [parameter(0, description="d" * 2049)],
            [transform(0)],
            [["parameters", "0", "description"]],
        ),
        ([], [transform(0, formula=" \n")], [["transforms", "0", "formula"]]),
        ([], [transform(0, formula="x" * 16385)], [["transforms", "0", "formula"]]),
        ([], [transform(0, formula="\x00")], [["transforms", "0", "formula"]]),
        ([], [transform(0, outputs=())], [["transforms", "0", "outputs"]]),
        ([], [transform(0, outputs=(output(0), output(1)))], [["transforms", "0", "outputs"]]),
        ([], [transform(0, outputs=(output(1),))], [["transforms", "0", "outputs", "0", "index"]]),
        (
            [],
            [transform(0, outputs=(output(0, "\x07"),))],
            [["transforms", "0", "outputs", "0", "key"]],
        ),
        ([parameter(n) for n in range(201)], [transform(0)], [["parameters"]]),
        ([], [transform(n) for n in range(201)], [["transforms"]]),
        (
            [parameter(5, " ")],
            [transform(0, formula="")],
            [
                ["parameters", "0", "index"],
                ["parameters", "0", "key"],
                ["transforms", "0", "formula"],
            ],
        ),
    ],
)
def test_each_broken_rule_is_named_with_its_path(
    parameters: list[Parameter], transforms: list[Transform], paths: list[list[str]]
) -> None:
    assert paths_of(parameters, transforms) == paths


def test_formulas_and_descriptions_may_have_several_lines() -> None:
    assert paths_of([parameter(0, description="a\nb")], [transform(0, formula="1 +\n\t2")]) == []


def test_two_hundred_of_each_are_allowed() -> None:
    assert paths_of([parameter(n) for n in range(200)], [transform(n) for n in range(200)]) == []
