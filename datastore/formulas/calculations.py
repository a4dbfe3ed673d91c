"""The rules of a calculation: columns in order, at least one output, a formula for the first."""

from collections.abc import Sequence

from penstock.datastore.errors import FieldProblem
from penstock.datastore.formulas.checks import (
    FormulaField,
    FormulaRules,
    formula_parameters,
    formula_problems,
    formula_text_problem,
)
from penstock.datastore.formulas.transformers import (
    column_problems,
    count_problems,
    key_problems,
    prefix_paths,
    sequence_problems,
)
from penstock.datastore.records import Calculation, Output, Parameter
from penstock.datastore.text import multiline_problem
from penstock.formula.checking.calculation_library import CalculationLibrary, ResolvedCalculation
from penstock.formula.core.values import FormulaType

MAX_SUMMARY = 1024


def calculation_problems(
    calculation: Calculation, library: CalculationLibrary
) -> list[FieldProblem]:
    """Check the fields that only calculations have; return one problem for each broken rule.

    The formula is checked only if the parameters are valid and there is an output. Unlike a
    pipeline, a calculation must use every parameter that it declares.
    """
    problems = count_problems(
        parameters=calculation.parameters, outputs=calculation.outputs
    ) or _field_problems(calculation)
    if any(map(_blocks_formula_check, problems)):
        return problems
    written = FormulaField(("formula",), calculation.formula, calculation.outputs[0].type)
    rules = FormulaRules(library, calculation_identity(calculation))
    return problems + formula_problems([written], calculation.parameters, rules)


def _blocks_formula_check(problem: FieldProblem) -> bool:
    return problem.path[0] in ("parameters", "formula") or problem.path == ["outputs"]


def calculation_identity(calculation: Calculation) -> str:
    """The identity of one version of a calculation: `<id>:<version>`."""
    return f"{calculation.id}:{calculation.version}"


def signature_of(calculation: Calculation, *, shown: bool = True) -> ResolvedCalculation:
    """The calculation as formulas call it.

    Error messages quote its formula only if `shown` is true.
    """
    return ResolvedCalculation(
        identity=calculation_identity(calculation),
        parameters=formula_parameters(calculation.parameters),
        formula=calculation.formula,
        output=FormulaType(calculation.outputs[0].type),
        shown=shown,
    )


def _field_problems(calculation: Calculation) -> list[FieldProblem]:
    found = (
        ("formula", formula_text_problem(calculation.formula)),
        ("summary", multiline_problem(calculation.summary or "", MAX_SUMMARY)),
        ("outputs", None if calculation.outputs else "must not be empty"),
    )
    return [
        *(FieldProblem([field], message) for field, message in found if message),
        *_column_problems("parameters", calculation.parameters),
        *_column_problems("outputs", calculation.outputs),
    ]


def _column_problems(field: str, columns: Sequence[Parameter | Output]) -> list[FieldProblem]:
    return [
        *sequence_problems(field, columns),
        *key_problems(([field, str(n), "key"], column.key) for n, column in enumerate(columns)),
        *(
            problem
            for n, column in enumerate(columns)
            for problem in prefix_paths([field, str(n)], column_problems(column))
        ),
    ]
