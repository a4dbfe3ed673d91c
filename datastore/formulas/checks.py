"""The check of formulas when they are saved, all formulas of a resource at once."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import penstock.formula.core.values as types
from penstock.datastore.errors import FieldProblem
from penstock.datastore.records import Parameter, Transformer, ValueType
from penstock.datastore.text import multiline_problem
from penstock.formula.checking.calculation_library import CalculationLibrary, NoLibrary
from penstock.formula.checking.check import Surroundings
from penstock.formula.checking.linker import CalledFindings, examine
from penstock.formula.core.errors import FormulaCode, FormulaProblem

MAX_FORMULA = 16_384
MAX_FORMULAS = 50_000
NO_LIBRARY: Final = NoLibrary()


@dataclass(frozen=True, slots=True)
class FormulaField:
    """One formula of a resource, its path in the input, and the type it must give.

    `earlier_outputs` holds the keys of the outputs that are filled before this formula runs.
    """

    path: tuple[str, ...]
    text: str
    output: ValueType
    earlier_outputs: frozenset[str] | None = None


@dataclass(frozen=True, slots=True)
class FormulaRules:
    """The rules for formulas beyond those of the language.

    `library` has the calculations that the formulas may call. `calculation_identity` is that
    of the calculation that owns the formula; such a formula must use every parameter it declares.
    """

    library: CalculationLibrary = NO_LIBRARY
    calculation_identity: str | None = None


def formula_text_problem(text: str) -> str | None:
    """The problem of a formula's text before it is parsed; None if there is none."""
    return multiline_problem(text, MAX_FORMULA) if text.strip() else "must not be empty"


def transform_problems(transformer: Transformer, library: CalculationLibrary) -> list[FieldProblem]:
    """Check all formulas of a transformer that have a text and exactly one output.

    An unused parameter is not a problem: a file may have columns that no formula reads.
    """
    written = [
        FormulaField(
            ("transforms", str(n), "formula"),
            transform.formula,
            transform.outputs[0].type,
            _earlier_output_keys(transformer, n),
        )
        for n, transform in enumerate(transformer.transforms)
        if len(transform.outputs) == 1 and formula_text_problem(transform.formula) is None
    ]
    return formula_problems(written, transformer.parameters, FormulaRules(library))


def formula_problems(
    written: Sequence[FormulaField], parameters: Sequence[Parameter], rules: FormulaRules
) -> list[FieldProblem]:
    """Check formulas that share their parameters; each problem has its path in the input."""
    length = sum(len(one.text) for one in written)
    if length > MAX_FORMULAS:
        message = f"the formulas together are longer than {MAX_FORMULAS} characters"
        return [FieldProblem(list(written[0].path[:-2]), message)]
    known, findings = formula_parameters(parameters), CalledFindings()
    reports = [
        examine(
            one.text,
            Surroundings(
                known,
                types.FormulaType(one.output),
                rules.library,
                rules.calculation_identity,
                one.earlier_outputs,
            ),
            findings,
        )
        for one in written
    ]
    return [
        field_problem(one.path, problem)
        for one, report in zip(written, reports, strict=True)
        for problem in report.problems
        if rules.calculation_identity is not None
        or problem.code is not FormulaCode.UNUSED_PARAMETER
    ]


def field_problem(path: tuple[str, ...], problem: FormulaProblem) -> FieldProblem:
    """A problem of a formula as a problem of the input field at the path."""
    return FieldProblem(
        list(path),
        f"{problem.at}: {problem.message}",
        code=problem.code.value,
        line=problem.at.line,
        column=problem.at.column,
        excerpt=problem.excerpt,
    )


def formula_parameters(parameters: Sequence[Parameter]) -> tuple[types.FormulaParameter, ...]:
    """The parameters in the form that the formula language uses."""
    return tuple(
        types.FormulaParameter(key=one.key, type=types.FormulaType(one.type), required=one.required)
        for one in parameters
    )


def _earlier_output_keys(transformer: Transformer, n: int) -> frozenset[str]:
    """The keys of all outputs that the transforms before number `n` fill."""
    earlier = (output for transform in transformer.transforms[:n] for output in transform.outputs)
    return frozenset(output.key for output in earlier if output.key is not None)
