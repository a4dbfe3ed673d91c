"""The check of a transformer's formulas when it is saved."""

from penstock.datastore.errors import FieldProblem
from penstock.datastore.formulas.checks import MAX_FORMULAS
from penstock.datastore.formulas.transformers import transformer_problems
from penstock.datastore.records import Output, Parameter, Transform, Transformer, ValueType


def transformer(*formulas: str, output: ValueType = ValueType.NUMBER) -> Transformer:
    return Transformer(
        parameters=(
            Parameter(index=0, key="distance", type=ValueType.NUMBER, required=True),
            Parameter(index=1, key="note", type=ValueType.STRING),
        ),
        transforms=tuple(
            Transform(index=n, formula=text, outputs=(Output(index=0, key=f"o{n}", type=output),))
            for n, text in enumerate(formulas)
        ),
    )


def test_formulas_of_the_language_have_no_problems() -> None:
    formulas = ":distance*0.062", "IF(:distance>100,REF('o0'),0)", "LOOKUP('x', IN(:note))"
    assert transformer_problems(transformer(*formulas)) == []


def test_a_parameter_that_no_formula_uses_is_a_column_that_passes_through() -> None:
    assert transformer_problems(transformer("1")) == []


def test_every_problem_of_every_formula_is_told_with_its_place() -> None:
    problems = transformer_problems(transformer(":distance*", "NOTHING(1)", ":distence"))
    assert [(problem.path, problem.code) for problem in problems] == [
        (["transformer", "transforms", "0", "formula"], "SYNTAX"),
        (["transformer", "transforms", "1", "formula"], "UNKNOWN_FUNCTION"),
        (["transformer", "transforms", "2", "formula"], "UNDECLARED_PARAMETER"),
    ]
    assert (problems[0].line, problems[0].column) == (1, 11)
    assert problems[0].excerpt == ":distance*\n          ^"
    assert problems[0].message.startswith("line 1, column 11: ")


def test_an_output_cannot_be_read_before_it_is_filled() -> None:
    (problem,) = transformer_problems(transformer("REF('o1')", ":distance"))
    assert problem.path == ["transformer", "transforms", "0", "formula"]
    assert problem.code == "UNKNOWN_OUTPUT"


def test_a_formula_gives_the_type_of_its_output() -> None:
    (problem,) = transformer_problems(transformer("UPPERCASE('a')"))
    assert problem.code == "WRONG_TYPE"
    assert transformer_problems(transformer("UPPERCASE('a')", output=ValueType.STRING)) == []


def test_formulas_together_are_bounded() -> None:
    long = "1+" * 6000 + "1"
    (problem,) = transformer_problems(transformer(*[long] * 5))
    assert problem == FieldProblem(
        ["transformer", "transforms"],
        f"the formulas together are longer than {MAX_FORMULAS} characters",
    )
