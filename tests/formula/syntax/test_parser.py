# ruff: noqa: E501 - a table reads best with a row on a line
from concurrent.futures import ThreadPoolExecutor
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.formula.core.errors import FormulaCode, FormulaSyntax, Position
from penstock.formula.syntax.parser import _READ, is_writable, parse, parse_uncached
from penstock.formula.syntax.render import render
from penstock.formula.syntax.tree import (
    Assign,
    CalculationCall,
    Chain,
    ChainStep,
    FunctionCall,
    Index,
    Literal,
    Name,
    Negate,
    Option,
)

SYNTAX_ERRORS = [
    ("17%5", 1, 3, "expected an operator or the end of the line, found `%`"),
    ("2,500", 1, 2, "expected an operator or the end of the line, found `,`"),
    ("IF(1,2", 1, 7, "expected an operator, `)` or `,`, found the end of the formula"),
    ("1 +\n  * 2", 2, 3, "expected a value (a number, 'text', a :parameter or a function), found `*`"),
    ("", 1, 1, "expected a value (a number, 'text', a :parameter or a function), found the end of the formula"),
    ("foo + 1", 1, 5, "expected `(`, found `+`; `foo` reads as a function: a parameter is written `:foo`, text is written `'foo'`"),
    ("SET v = 1", 1, 5, "expected `(`, found `v`; a variable is set as in `SET :name = 1`"),
    ("CONCAT('a", 1, 8, "expected `'` to close this text before the line ends"),
    ("CONCAT(\"a\")", 1, 8, "expected a value (a number, 'text', a :parameter or a function) or `)`, found `\"`; text is written in single quotes: 'text'"),
    ("SPLIT(:a, ',')[x]", 1, 16, "expected a whole number, found `x`"),
    ("SPLIT(:a, ',')[1.5]", 1, 16, "an index is a whole number, as in `[0]`"),
    ("IN('a')", 1, 1, "IN takes one parameter, as in `IN(:name)`"),
    ("1e99999", 1, 1, "the number needs more than 1000 digits or is beyond 10^9999"),
    (":a\x00", 1, 3, "expected an operator or the end of the line, found the character U+0000"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "line", "column", "message"), SYNTAX_ERRORS)
def test_a_syntax_error_says_where_and_what_was_expected(
    text: str, line: int, column: int, message: str
) -> None:
    with pytest.raises(FormulaSyntax) as caught:
        parse(text)

    assert caught.value.problem.at == Position(line, column)
    assert caught.value.problem.message == message


def test_a_syntax_error_shows_its_line_with_a_caret() -> None:
    with pytest.raises(FormulaSyntax) as caught:
        parse("SET :v = 1\nIF(:v > 0, 1 2)")

    assert caught.value.problem.excerpt == "IF(:v > 0, 1 2)\n             ^"
    assert caught.value.expected == ("an operator", "`)`", "`,`")


def test_the_excerpt_of_a_long_line_is_the_part_around_the_caret() -> None:
    with pytest.raises(FormulaSyntax) as caught:
        parse(f"{'1 + ' * 100}%")
    line, caret = caught.value.problem.excerpt.split("\n")

    assert len(line) <= 80
    assert line[caret.index("^")] == "%"


def test_every_node_knows_its_place() -> None:
    assert parse("SET :v = -1\n#f(:v, group='/a') * SPLIT('a', 'b')[2]").lines == (
        Assign(Position(1, 5), "v", Negate(Position(1, 10), Literal(Position(1, 11), Decimal(1)))),
        Chain(
            Position(2, 1),
            CalculationCall(
                Position(2, 1),
                "f",
                (Name(Position(2, 4), "v"),),
                (Option(Position(2, 8), "group", Literal(Position(2, 14), "/a")),),
            ),
            (
                ChainStep(
                    Position(2, 20),
                    "*",
                    Index(
                        Position(2, 37),
                        FunctionCall(
                            Position(2, 22),
                            "SPLIT",
                            (Literal(Position(2, 28), "a"), Literal(Position(2, 33), "b")),
                        ),
                        2,
                    ),
                ),
            ),
        ),
    )


@pytest.mark.parametrize(
    ("text", "canonical"),
    [
        ("1+2*3^-4", "1 + 2 * 3 ^ -4"),
        ("(1+2)*3", "(1 + 2) * 3"),
        ("2^3^2", "2 ^ 3 ^ 2"),
        ("2^(3^2)", "2 ^ (3 ^ 2)"),
        ("1-(2-3)-4", "1 - (2 - 3) - 4"),
        ("-(1+2)", "-(1 + 2)"),
        ("1<2==true", "1 < 2 == true"),
        ("1<(2==3)", "1 < (2 == 3)"),
        (":Fuel type*2", ":Fuel type * 2"),
        (":a:b#c d + 1", ":a:b#c d + 1"),
        ("In( :x )", ":x"),
        ("TRUE", "true"),
        ("r1('it\\'s \\d \\\\')", "R1('it\\'s \\\\d \\\\')"),
        ("f(a = 1, 2)", "F(2, a=1)"),
        ("1.50e3", "1500"),
    ],
)
def test_a_formula_has_one_canonical_form(text: str, canonical: str) -> None:
    assert render(parse(text).lines[0]) == canonical


def test_a_backslash_escapes_quotes_and_itself_and_is_kept_before_anything_else() -> None:
    assert parse(r"'\'\\\(\d'").lines == (Literal(Position(1, 1), r"'\\(\d"),)


def test_newlines_separate_lines_except_in_brackets_and_beside_operators() -> None:
    text = "\n\nSET :a\n=\n1 +\n2\n\nSET :b = (3\n\n)\n:a\n* :b\n\n"

    assert [render(line) for line in parse(text).lines] == [
        "SET :a = 1 + 2",
        "SET :b = 3",
        ":a * :b",
    ]


def test_a_minus_at_the_start_of_a_line_begins_a_new_value() -> None:
    assert [render(line) for line in parse("1\n-2").lines] == ["1", "-2"]


def test_a_token_ends_at_a_hyphen_or_bracket() -> None:
    assert [render(parse(text).lines[0]) for text in (":a-b(1)", ":a[0]")] == [":a - B(1)", ":a[0]"]


def test_a_parameter_key_is_writable_when_it_is_a_token() -> None:
    assert [
        key for key in ("a", "Fuel type", "a:b", "é_1", "a-b", "", " a", "a ") if is_writable(key)
    ] == ["a", "Fuel type", "a:b", "é_1"]


def test_a_text_is_read_once_while_it_is_remembered() -> None:
    assert parse("1 + 41") is parse("1 + 41")
    assert parse_uncached("1 + 41") is not parse_uncached("1 + 41")


def test_threads_share_the_texts_that_are_remembered_within_a_bound() -> None:
    texts = [f"{number} + {' ' * 9_000}1" for number in range(100)]
    with ThreadPoolExecutor(4) as pool:
        read = list(pool.map(parse, texts * 2))
    assert [formula.text for formula in read] == texts * 2
    assert sum(len(text) for text in _READ) == _READ.currsize <= _READ.maxsize == 500_000
    assert parse(texts[-1]) is parse(texts[-1])


PIECES = st.sampled_from(
    [
        *"+-*/^()[],=<>!:#'\\.%\n\t ",
        "IF(",
        "SET :a = ",
        ":a",
        "'x'",
        "1.5",
        "==",
        "IN(",
        "f",
        "#f(",
        "é",
    ]
)


@given(st.lists(PIECES, max_size=40).map("".join) | st.text(max_size=60))
def test_any_text_is_a_formula_or_a_syntax_error_within_it(text: str) -> None:
    found = None
    try:
        parse_uncached(text)
    except FormulaSyntax as error:
        found = error.problem
    if found is not None:
        assert found.code in {
            FormulaCode.SYNTAX,
            FormulaCode.FORMULA_TOO_DEEP,
            FormulaCode.NUMBER_OUT_OF_RANGE,
        }
        assert 1 <= found.at.line <= text.count("\n") + 1
        assert 1 <= found.at.column <= len(text.split("\n")[found.at.line - 1]) + 1
        assert found.excerpt.endswith("^")


def test_a_number_with_many_zeros_is_rendered_with_its_exponent() -> None:
    text = "+".join(["1e-9000", "2.50e31", "0.00025", "1e30"] * 100)
    rendered = render(parse(text).lines[0])

    one = f"1E-9000 + 2.50E+31 + 0.00025 + 1{'0' * 30}"
    assert rendered == " + ".join([one] * 100)
    assert render(parse(rendered).lines[0]) == rendered
