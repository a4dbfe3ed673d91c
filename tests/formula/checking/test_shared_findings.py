"""A calculation that many formulas of one resource call is checked and compiled once."""

from dataclasses import dataclass, field

import pytest

from penstock.datastore.formulas import checks
from penstock.datastore.formulas.checks import FormulaField, FormulaRules
from penstock.datastore.records import Parameter, ValueType
from penstock.formula.checking import linker
from penstock.formula.checking.calculation_library import Callee, ResolvedCalculation
from penstock.formula.checking.check import CheckReport, Surroundings, check
from penstock.formula.checking.linker import LinkedFormula, reachable_calls
from penstock.formula.codegen import generator
from penstock.formula.core.values import FormulaParameter, FormulaType
from penstock.formula.syntax.parser import parse
from penstock.formula.syntax.tree import Formula
from penstock.transform.plan import Column, FormulaStep, TransformPlan
from penstock.transform.program import Program

NUMBER = FormulaType.NUMBER
X = FormulaParameter("x", NUMBER)
MANY, CALLED = 100, 30


@dataclass
class Library:
    """`#all` calls thirty calculations, each of which calls the next two."""

    formulas: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.formulas["all"] = "+".join(f"#c{n}(:x)" for n in range(CALLED))
        for n in range(CALLED):
            nexts = [f"#c{m}(:x)" for m in (n + 10, n + 20) if m < CALLED]
            self.formulas[f"c{n}"] = "+".join([*nexts, ":x", str(n)])

    def find_callee(self, callee: Callee, within: str | None) -> ResolvedCalculation | None:
        text = self.formulas.get(callee.name)
        if text is None:
            return None
        return ResolvedCalculation(f"{callee.name}:1", (X,), text, NUMBER)


def problems_of(library: Library, count: int) -> list[str]:
    written = [
        FormulaField(("transforms", str(n), "formula"), f"#all(:x)+{n}", ValueType.NUMBER)
        for n in range(count)
    ]
    given = [Parameter(index=0, key="x", type=ValueType.NUMBER, required=False)]
    found = checks.formula_problems(written, given, FormulaRules(library))
    return [problem.message for problem in found]


def test_the_calculations_that_many_formulas_call_are_checked_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    checked: list[str] = []
    linked: list[str] = []
    steps = linker._steps

    def counted_check(formula: Formula, around: Surroundings) -> CheckReport:
        checked.append(formula.text)
        return check(formula, around)

    def counted_steps(formula: Formula, callees: dict[Callee, LinkedFormula]) -> int:
        linked.append(formula.text)
        return steps(formula, callees)

    monkeypatch.setattr(linker, "check", counted_check)
    monkeypatch.setattr(linker, "_steps", counted_steps)
    assert problems_of(Library(), MANY) == []
    assert len(checked) == len(linked) == MANY + 1 + CALLED


def test_every_formula_still_reports_the_calculation_that_cannot_be_used() -> None:
    library = Library()
    library.formulas["c29"] = ":x+"
    found = problems_of(library, 3)
    assert len(found) == 3
    assert all("#c29 cannot be used" in message for message in found)


def test_the_calculations_that_many_formulas_call_are_compiled_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    compiled: list[str] = []
    finish = generator.FormulaGenerator.finish

    def counted_finish(self: generator.FormulaGenerator, names: list[str]) -> object:
        compiled.append(self._linked.formula.text)
        return finish(self, names)

    monkeypatch.setattr(generator.FormulaGenerator, "finish", counted_finish)
    calls = reachable_calls(parse("#all(:x)"), Library(), None)
    steps = tuple(FormulaStep(f"#all(:x)+{n}", f"o{n}", NUMBER) for n in range(MANY))
    program = Program(TransformPlan((Column("x", NUMBER),), steps, calls))
    assert len(compiled) == MANY + 1 + CALLED
    cells = program.evaluate_row(1, program.read_values(1, [1], []), [])
    first = int(cells[0])
    assert [int(cell) for cell in cells] == [first + n for n in range(MANY)]
