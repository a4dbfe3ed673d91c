"""The rules of a calculation: columns in order, at least one output, a formula for the first."""

from collections.abc import Sequence

from datastore.errors import FieldProblem
from datastore.formulas import Rules, Written, declared, formula_problems
from datastore.records import Calculation, Output, Parameter
from datastore.text import prose_problem
from datastore.transformers import (
    MAX_ENTRIES,
    column_problems,
    formula_text_problems,
    key_problems,
    located,
    sequence_problems,
)
from formula.calls import Library, Signature
from formula.values import ValueType

MAX_SUMMARY = 1024


def calculation_problems(calculation: Calculation, library: Library) -> list[FieldProblem]:
    """Every broken rule of the fields that calculations alone have.

    The formula is looked at where all around it is right; unlike a pipeline's columns, parameters
    that it does not use are a mistake.
    """
    problems = _structure_problems(calculation)
    if problems:
        return problems
    written = Written(("formula",), calculation.formula, calculation.outputs[0].type)
    rules = Rules(library, identity_of(calculation))
    return formula_problems([written], calculation.parameters, rules)


def identity_of(calculation: Calculation) -> str:
    """What tells a version of a calculation from every other that formulas may call."""
    return f"{calculation.id}:{calculation.version}"


def signature_of(calculation: Calculation) -> Signature:
    """The calculation as formulas call it."""
    return Signature(
        identity=identity_of(calculation),
        parameters=declared(calculation.parameters),
        formula=calculation.formula,
        output=ValueType(calculation.outputs[0].type),
    )


def _structure_problems(calculation: Calculation) -> list[FieldProblem]:
    problems = formula_text_problems(calculation.formula)
    if message := prose_problem(calculation.summary or "", MAX_SUMMARY):
        problems.append(FieldProblem(["summary"], message))
    if not calculation.outputs:
        problems.append(FieldProblem(["outputs"], "must not be empty"))
    lists: tuple[tuple[str, Sequence[Parameter | Output]], ...] = (
        ("parameters", calculation.parameters),
        ("outputs", calculation.outputs),
    )
    for field, columns in lists:
        if len(columns) > MAX_ENTRIES:
            problems.append(FieldProblem([field], f"at most {MAX_ENTRIES} are allowed"))
            continue
        problems += sequence_problems(field, columns)
        problems += key_problems(field, [one.key for one in columns if one.key is not None])
        for n, column in enumerate(columns):
            problems += located([field, str(n)], column_problems(column))
    return problems
