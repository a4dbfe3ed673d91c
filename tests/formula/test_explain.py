from decimal import Decimal
from typing import Any

import pytest

from penstock.formula.checking.check import Surroundings
from penstock.formula.checking.linker import LinkedFormula
from penstock.formula.codegen import generator
from penstock.formula.codegen.emitter import Routine
from penstock.formula.core.errors import FormulaCode, FormulaInvalid, Position
from penstock.formula.core.values import FormulaParameter
from penstock.formula.explain import Part, TooManyParts, explain
from penstock.formula.syntax.render import render
from tests.formula.formula_values import (
    FACTORS,
    NUMBER,
    VEHICLE,
    VEHICLE_FORMULA,
    SampleCalculations,
)

N = (FormulaParameter("n", NUMBER),)


def evaluated_parts(part: Part) -> dict[str, object]:
    """Return the value of every evaluated part by its text, including the parts of bodies."""
    values: dict[str, object] = {part.text: part.value} if part.evaluated else {}
    for inner in (*part.parts, *part.body):
        values |= evaluated_parts(inner)
    return values


def test_every_part_that_was_evaluated_has_its_value() -> None:
    row = {"vehicleType": "car", "pollutant": "co2", "distance": "12.5"}
    explained = explain(VEHICLE_FORMULA, VEHICLE, row, FACTORS)
    (line,) = explained.lines

    assert explained.value == line.value == Decimal("4.37750")
    assert explained.failure is None
    assert evaluated_parts(line) == {
        line.text: Decimal("4.37750"),
        "COALESCE(:passengers, 0) > 0": False,
        "COALESCE(:passengers, 0)": Decimal(0),
        ":passengers": None,
        "0": Decimal(0),
        "IMPACT('vehicles', :vehicleType, :pollutant) * :distance": Decimal("4.37750"),
        "IMPACT('vehicles', :vehicleType, :pollutant)": Decimal("0.3502"),
        "'vehicles'": "vehicles",
        ":vehicleType": "car",
        ":pollutant": "co2",
        ":distance": Decimal("12.5"),
    }


def test_a_chain_shows_how_far_it_had_come() -> None:
    (line,) = explain("2 * :n - 1 / 4", Surroundings(N), {"n": 3}).lines
    shown = [(part.operator, part.text, part.value, part.so_far) for part in line.parts]

    assert shown == [
        (None, "2 * :n", Decimal(6), None),
        ("-", "1 / 4", Decimal("0.25"), Decimal("5.75")),
    ]


def test_a_line_that_sets_a_variable_is_shown_with_its_value() -> None:
    first, second = explain("SET :v = :n + 1\n:v * 2", Surroundings(N), {"n": 3}).lines

    assert (first.text, first.value, first.at) == ("SET :v = :n + 1", Decimal(4), Position(1, 5))
    assert evaluated_parts(second) == {":v * 2": Decimal(8), ":v": Decimal(4), "2": Decimal(2)}


def test_a_failure_is_told_and_what_came_before_it_is_shown() -> None:
    explained = explain("(:n + 1) / (:n - :n)", Surroundings(N), {"n": 3})
    (line,) = explained.lines

    assert explained.failure is not None
    assert (explained.failure.code, explained.failure.at) == (
        FormulaCode.DIVISION_BY_ZERO,
        Position(1, 10),
    )
    assert not line.evaluated
    assert evaluated_parts(line) == {
        ":n + 1": Decimal(4),
        ":n": Decimal(3),
        "1": Decimal(1),
        ":n - :n": Decimal(0),
    }


def test_an_input_at_fault_leaves_everything_unevaluated() -> None:
    explained = explain(":n + 1", Surroundings(N), {"n": "x"})

    assert explained.failure is not None
    assert explained.failure.column == "n"
    assert evaluated_parts(explained.lines[0]) == {}


def test_the_body_of_a_calculation_is_shown_for_the_arguments_of_the_call() -> None:
    shelf = SampleCalculations(f=((FormulaParameter("x", NUMBER),), "SET :h = :x / 2\n:h + 1"))
    (line,) = explain("#f(:n) * #f(8)", Surroundings(N, library=shelf), {"n": 3}).lines
    first, second = line.parts

    assert [part.value for part in first.body] == [Decimal("1.5"), Decimal("2.5")]
    assert [part.value for part in second.body] == [Decimal(4), Decimal(5)]
    assert line.value == Decimal("12.5")


def test_the_body_of_a_calculation_that_failed_is_shown_up_to_the_failure() -> None:
    shelf = SampleCalculations(f=((FormulaParameter("x", NUMBER),), "SET :h = :x + 1\n1 / :x"))
    explained = explain("#f(:n)", Surroundings(N, library=shelf), {"n": 0})
    set_line, last = explained.lines[0].body

    assert (set_line.value, set_line.evaluated, last.evaluated) == (Decimal(1), True, False)
    assert explained.failure is not None
    assert explained.failure.message == "in #f, line 2, column 3: division by zero"


def test_an_explanation_ends_at_the_part_that_is_too_many(monkeypatch: pytest.MonkeyPatch) -> None:
    levels = {"c0": ((FormulaParameter("x", NUMBER),), ":x")}
    for n in range(1, 12):
        levels[f"c{n}"] = ((FormulaParameter("x", NUMBER),), f"#c{n - 1}(:x) + #c{n - 1}(:x)")
    around = Surroundings(N, library=SampleCalculations(**levels))
    bodies: list[str] = []
    routine_for_calls = generator.routine_for_calls

    def note_body(linked: LinkedFormula, **more: Any) -> Routine:
        if more.get("traced"):
            bodies.append(render(linked.formula.lines[0]))
        return routine_for_calls(linked, **more)

    monkeypatch.setattr(generator, "routine_for_calls", note_body)
    with pytest.raises(TooManyParts):
        explain("#c11(:n)", around, {"n": 3}, most_parts=100)
    # Nothing is run for a part that is not shown: nested calculations would be 4,095 bodies.
    assert len(bodies) < 100
    whole = explain("#c2(:n)", around, {"n": 3}, most_parts=21)
    assert whole.value == 12
    with pytest.raises(TooManyParts):
        explain("#c2(:n)", around, {"n": 3}, most_parts=20)


def test_a_call_refused_for_its_argument_has_no_body() -> None:
    shelf = SampleCalculations(f=((FormulaParameter("x", NUMBER),), "1 / :x"))
    explained = explain("#f(GET_VALUE('null', '$'))", Surroundings(library=shelf), {})

    assert explained.failure is not None
    assert explained.failure.code == FormulaCode.NULL_OPERAND
    assert explained.lines[0].body == ()


def test_an_unusable_formula_is_refused() -> None:
    with pytest.raises(FormulaInvalid):
        explain("FOO()", Surroundings(), {})


def test_long_parts_are_cut() -> None:
    (line,) = explain("+".join(["11111"] * 100), Surroundings(), {}).lines

    assert len(line.text) == 200
    assert line.text.endswith("…")
