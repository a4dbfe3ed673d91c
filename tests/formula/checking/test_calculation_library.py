from decimal import Decimal
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.formula.checking.calculation_library import Callee, ResolvedCalculation, find_cycle
from penstock.formula.checking.check import Surroundings
from penstock.formula.checking.linker import calls_of, examine
from penstock.formula.core.datasets import LATEST, NoDatasets, RowKey, VersionPin
from penstock.formula.core.errors import FormulaCode, FormulaFailure, FormulaInvalid, Position
from penstock.formula.core.values import FormulaParameter, Value
from penstock.formula.evaluate import compile_formula
from penstock.formula.syntax.parser import parse
from tests.formula.formula_values import NUMBER, STRING, SampleCalculations, codes, messages

X = (FormulaParameter("x", NUMBER),)


def run(text: str, shelf: SampleCalculations) -> Value:
    return compile_formula(text, Surroundings(library=shelf)).run({})


def test_a_calculation_called_is_the_formula_written_out() -> None:
    shelf = SampleCalculations(
        area=((FormulaParameter("a", NUMBER), FormulaParameter("b", NUMBER)), ":a * :b")
    )

    assert run("#area(1 + 2, #area(2, 2)) - 1", shelf) == Decimal(11)


def test_a_trailing_optional_argument_may_be_left_out() -> None:
    shelf = SampleCalculations(
        f=((*X, FormulaParameter("y", NUMBER, required=False)), ":x + COALESCE(:y, 10)")
    )

    assert run("#f(1)", shelf) == Decimal(11)
    assert run("#f(1, 2)", shelf) == Decimal(3)
    assert run("#f(1, null)", shelf) == Decimal(11)


def test_an_argument_has_the_type_of_its_parameter() -> None:
    shelf = SampleCalculations(
        f=(X, ":x"), t=((FormulaParameter("t", STRING, required=False),), "SPLIT(:t, ',')[0]")
    )

    assert messages("#f('a')", Surroundings(library=shelf)) == [
        "line 1, column 4: expected a number, found text"
    ]
    with pytest.raises(FormulaFailure) as caught:
        run("#f(GET_VALUE('\"a\"', '$'))", shelf)
    assert (caught.value.code, caught.value.at) == (FormulaCode.WRONG_TYPE, Position(1, 4))


def test_data_is_asked_for_in_the_name_of_the_calculation_whose_formula_asks() -> None:
    asked: list[tuple[str, str | None]] = []

    class RecordingDatasets(NoDatasets):
        def lookup(
            self,
            dataset: str,
            key: RowKey,
            columns: tuple[str, ...] | None,
            pin: VersionPin,
            within: str | None = None,
        ) -> Decimal:
            asked.append((dataset, within))
            return Decimal(1)

        def impact(
            self,
            activity: str,
            impact: str,
            component: str,
            pin: VersionPin,
            within: str | None = None,
        ) -> Decimal:
            asked.append((activity, within))
            return Decimal(1)

    shelf = SampleCalculations(
        f=(X, ":x * LOOKUP('d', 'k')"), g=(X, "#f(:x) * IMPACT('a', 'b', 'c')")
    )
    text = "LOOKUP('d', 'k') + #g(1) + IMPACT('a', 'b', 'c')"
    assert compile_formula(text, Surroundings(library=shelf)).run(
        {}, RecordingDatasets()
    ) == Decimal(3)
    assert asked == [("d", None), ("d", "f:1"), ("a", "g:1"), ("a", None)]


def test_a_failure_inside_a_calculation_says_where_in_both_formulas() -> None:
    shelf = SampleCalculations(inner=(X, "1 +\n1 / :x"), outer=(X, "2 * #inner(:x)"))
    with pytest.raises(FormulaFailure) as caught:
        run("1 + #outer(0)", shelf)

    assert caught.value.at == Position(1, 5)
    assert caught.value.code == FormulaCode.DIVISION_BY_ZERO
    assert caught.value.message == (
        "in #outer, line 1, column 5: in #inner, line 2, column 3: division by zero"
    )


def test_a_call_may_name_a_version_which_the_library_finds() -> None:
    class Versions:
        def find_callee(self, callee: Callee, within: str | None) -> ResolvedCalculation | None:
            version = callee.pin.version or 9
            return ResolvedCalculation(f"f:{version}", X, f":x * {version}")

    around = Surroundings(library=Versions())

    assert compile_formula("#f(1) + #f(1, version=2)", around).run({}) == Decimal(11)


def test_what_a_name_means_is_asked_from_where_it_is_written() -> None:
    asked = []

    class Groups:
        def find_callee(self, callee: Callee, within: str | None) -> ResolvedCalculation | None:
            asked.append((callee.name, within))
            text = {"f": "#g()", "g": "1" if within else "2"}[callee.name]
            return ResolvedCalculation(f"{callee.name}:{within}", (), text)

    assert compile_formula("#f() + #g()", Surroundings(library=Groups())).run({}) == Decimal(3)
    assert {("f", None), ("g", None), ("g", "f:None")} == set(asked)


def test_a_circle_is_refused_wherever_it_lies() -> None:
    circle = {"a": ((), "#b()"), "b": ((), "#c()"), "c": ((), "#b()"), "me": ((), "#me()")}
    around = Surroundings(library=SampleCalculations(**circle))

    assert messages("1 + #a()", around) == [
        "line 1, column 5: the calls go in a circle: #b -> #c -> #b"
    ]
    assert codes("#me()", around) == ["CALCULATION_CYCLE"]
    with pytest.raises(FormulaInvalid):
        compile_formula("#a()", around)


def test_a_calculation_being_saved_sees_the_circle_it_would_close() -> None:
    shelf = SampleCalculations(me=((), "#other()"), other=((), "#me()"))

    assert messages("1 + #other()", Surroundings(library=shelf, within="me:1")) == [
        "line 1, column 5: the calls go in a circle: #me -> #other -> #me"
    ]


def test_a_calculation_that_cannot_be_used_is_named_with_its_reason() -> None:
    shelf = SampleCalculations(f=((), "1 +"), g=((), "ZZZ()"), h=((), "#gone()"))
    found = messages("#f() + #g() + #h()", Surroundings(library=shelf))

    assert sorted(found) == [
        "line 1, column 1: #f cannot be used: line 1, column 4: expected a value (a number, "
        "'text', a :parameter or a function), found the end of the formula",
        "line 1, column 1: #g cannot be used: line 1, column 1: there is no function ZZZ",
        "line 1, column 1: #h cannot be used: line 1, column 1: "
        "no calculation #gone can be seen from here",
    ]


def test_work_that_doubles_with_each_call_is_refused_before_it_is_done() -> None:
    shelf = SampleCalculations(
        f0=(X, ":x + 1"), **{f"f{n}": (X, f"#f{n - 1}(:x) + #f{n - 1}(:x)") for n in range(1, 15)}
    )

    assert codes("#f5(1)", Surroundings(library=shelf)) == []
    assert run("#f5(1)", shelf) == Decimal(64)
    assert codes("#f14(1)", Surroundings(library=shelf)) == ["FORMULA_TOO_COMPLEX"]


def test_calls_may_be_sixteen_deep() -> None:
    shelf = SampleCalculations(
        f0=((), "1"), **{f"f{n}": ((), f"#f{n - 1}()") for n in range(1, 90)}
    )

    assert run("#f15()", shelf) == Decimal(1)
    assert codes("#f16()", Surroundings(library=shelf)) == ["FORMULA_TOO_DEEP"]
    assert codes("#f89()", Surroundings(library=shelf)) == ["FORMULA_TOO_DEEP"]


def test_at_most_a_hundred_calculations_are_called() -> None:
    shelf = SampleCalculations(**{f"f{n}": ((), "1") for n in range(120)})

    assert codes(" + ".join(f"#f{n}()" for n in range(100)), Surroundings(library=shelf)) == []
    assert codes(" + ".join(f"#f{n}()" for n in range(101)), Surroundings(library=shelf)) == [
        "FORMULA_TOO_COMPLEX"
    ]


def test_the_calls_of_a_formula_are_known_without_a_library() -> None:
    assert calls_of(parse("#f(#g(), version=2) + #f(1) + #g()")) == (
        Callee("f", VersionPin(version=2)),
        Callee("g", LATEST),
        Callee("f", LATEST),
    )


def test_a_changed_calculation_is_compiled_anew() -> None:
    before, after = SampleCalculations(f=((), "1")), SampleCalculations(f=((), "2"))

    assert [run("#f()", before), run("#f()", after), run("#f()", before)] == [
        Decimal(1),
        Decimal(2),
        Decimal(1),
    ]


def test_unused_parameters_of_called_calculations_are_no_obstacle() -> None:
    assert examine("#f(1)", Surroundings(library=SampleCalculations(f=(X, "5")))).problems == ()


@given(st.dictionaries(st.sampled_from("abcdef"), st.lists(st.sampled_from("abcdef"), max_size=3)))
def test_a_circle_is_found_exactly_when_there_is_one(graph: dict[str, list[str]]) -> None:
    found = find_cycle(graph)
    reached = {(a, b) for a, names in graph.items() for b in names}
    for middle in "abcdef":
        reached |= {(a, d) for a, b in reached for c, d in reached if b == c == middle}

    assert (found is not None) == any(a == b for a, b in reached)
    if found:
        assert found[0] == found[-1]
        assert all(after in graph[before] for before, after in pairwise(found))
