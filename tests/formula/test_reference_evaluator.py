from collections.abc import Callable, Mapping

import pytest
from hypothesis import assume, event, given, settings

from penstock.formula.checking.linker import link
from penstock.formula.core.errors import FormulaFailure, FormulaInvalid
from penstock.formula.core.limits import WorkMeter
from penstock.formula.core.values import Value, text_of
from penstock.formula.evaluate import compile_formula
from penstock.formula.explain import explain
from penstock.formula.syntax.parser import parse
from penstock.formula.syntax.render import render
from tests.formula.random_formulas import DATA, EARLIER, ROWS, SURROUNDINGS, formulas
from tests.formula.reference_evaluator import ReferenceEvaluator


def outcome(compute: Callable[[], Value]) -> object:
    try:
        value = compute()
    except FormulaFailure as failure:
        event(failure.code)
        return (failure.code, failure.message, failure.at, failure.column)
    event(type(value).__name__)
    return (type(value), text_of(value))


@pytest.mark.thorough
@settings(max_examples=400)
@given(formulas(), ROWS)
def test_generated_code_agrees_with_the_plain_reading_of_the_tree(
    text: str, row: Mapping[str, object]
) -> None:
    try:
        compiled = compile_formula(text, SURROUNDINGS)
    except FormulaInvalid:
        assume(False)
    reference = ReferenceEvaluator(link(parse(text), SURROUNDINGS), DATA, EARLIER, WorkMeter())

    plain = outcome(lambda: reference.for_row(row))

    assert outcome(lambda: compiled.run(row, DATA, EARLIER)) == plain


@pytest.mark.thorough
@settings(max_examples=150)
@given(formulas(), ROWS)
def test_an_explanation_has_the_result_of_the_evaluation(
    text: str, row: Mapping[str, object]
) -> None:
    try:
        compiled = compile_formula(text, SURROUNDINGS)
    except FormulaInvalid:
        assume(False)
    explained = explain(text, SURROUNDINGS, row, DATA, EARLIER)

    def explanation() -> Value:
        if explained.failure:
            raise explained.failure
        assert explained.lines[-1].value == explained.value
        return explained.value

    assert outcome(explanation) == outcome(lambda: compiled.run(row, DATA, EARLIER))


@settings(max_examples=200)
@given(formulas())
def test_a_formula_written_anew_means_the_same(text: str) -> None:
    lines = parse(text).lines
    written = "\n".join(map(render, lines))

    assert list(map(render, parse(written).lines)) == list(map(render, lines))
