"""Random formulas, most of them valid, and rows for them."""

from decimal import Decimal
from typing import ClassVar

from hypothesis import strategies as st

from penstock.formula.checking.calculation_library import Callee, ResolvedCalculation
from penstock.formula.checking.check import Surroundings
from penstock.formula.core.datasets import LATEST, DatasetRows, InMemoryDatasets
from penstock.formula.core.values import FormulaParameter, FormulaType, Scalar

PARAMETERS = (
    FormulaParameter("n", FormulaType.NUMBER),
    FormulaParameter("maybe n", FormulaType.NUMBER, required=False),
    FormulaParameter("t", FormulaType.STRING),
    FormulaParameter("maybe t", FormulaType.STRING, required=False),
    FormulaParameter("b", FormulaType.BOOLEAN),
    FormulaParameter("maybe b", FormulaType.BOOLEAN, required=False),
    FormulaParameter("when", FormulaType.TIMESTAMP),
)
DATA = InMemoryDatasets(
    datasets={
        ("d", LATEST): DatasetRows(
            ("key", "value", "other"),
            [("a", Decimal("1.5"), "x"), ("b", "text", None), ("1", True, "y")],
        ),
        ("two", LATEST): DatasetRows(
            ("key", "value", "other"),
            [("a", Decimal("1.5"), "a"), ("a", "text", "1"), ("1", True, "a"), ("b", False, None)],
            "key",
            ("other",),
        ),
    },
    impacts={("act", LATEST): {("a", "b"): Decimal("0.175"), ("b", "b"): Decimal(-2)}},
)
EARLIER: dict[str, Scalar] = {"first": Decimal("2.50"), "second": "b", "third": True}


class SampleLibrary:
    """Three calculations; `#twice` calls `#half`."""

    signatures: ClassVar = {
        "half": ResolvedCalculation(
            "half:1", (FormulaParameter("x", FormulaType.NUMBER),), ":x / 2"
        ),
        "twice": ResolvedCalculation(
            "twice:1",
            (
                FormulaParameter("x", FormulaType.NUMBER),
                FormulaParameter("y", FormulaType.NUMBER, required=False),
            ),
            "SET :h = #half(:x)\nCOALESCE(:y, 4) * :h",
            FormulaType.NUMBER,
        ),
        "word": ResolvedCalculation(
            "word:1",
            (FormulaParameter("x", FormulaType.STRING, required=False),),
            "SPLIT(:x, 'b')[1]",
        ),
    }

    def find_callee(self, callee: Callee, within: str | None) -> ResolvedCalculation | None:
        return self.signatures.get(callee.name) if callee.pin == LATEST else None


SURROUNDINGS = Surroundings(PARAMETERS, None, SampleLibrary(), earlier=frozenset(EARLIER))

NUMBERS = ("0", "1", "2", "0.1", "7e3", "1.10", "3e-2", "12345678901234567890.5", "9e900", ":n")
TEXTS = ("''", "'a'", "'b'", "'1.5'", "'aXbXc'", '\'{"a":[1,"x",null]}\'', ":t", ":when")
BOOLEANS = ("true", "FALSE", ":b")
LOOSE = (
    "null",
    ":maybe n",
    ":maybe t",
    ":maybe b",
    "REF('first')",
    "REF('second')",
    "REF('third')",
)


def _number_forms(n: str, t: str, b: str, x: str) -> list[str]:
    operators = [f"({n} {sign} {n})" for sign in "+-*/^"]
    return [
        *operators,
        f"-{n}",
        f"IF({b}, {n}, {x})",
        f"COALESCE({x}, {n})",
        f"ROUND({n}, 2)",
        f"FLOOR({n})",
        f"CEIL({n})",
        f"MOD({n}, {n})",
        f"SQRT({n})",
        f"LOG({n}, {n})",
        f"IFNULL({n}, {n})",
        f"DATEDIFF({n}, {n}, 'month')",
        f"DATEPART({n}, 'week')",
        f"LEN({t})",
        f"MAX({n}, {x})",
        f"ABS({x})",
        f"NUMBER({t})",
        f"SEARCH({t}, {t}, ignoreCase={b})",
        f"IMPACT('act', {t}, 'b')",
        f"#twice({n}, {x})",
        f"#half({x})",
        f"AS_TIMESTAMP({t}, 'yyyy-MM-dd')",
        f"CONVERT({n}, 'km', 'mi')",
    ]


def _text_forms(n: str, t: str, b: str, x: str) -> list[str]:
    return [
        f"CONCAT({t}, {x}, {n})",
        f"UPPERCASE({t})",
        f"LOWERCASE({x})",
        f"TRIM({t})",
        f"REPLACE({t}, {t}, {t})",
        f"SUBSTRING({t}, 1, {n})",
        f"SPLIT({t}, '[Xb]')[1]",
        f"IF({b}, {t}, {t})",
        f"SWITCH({x}, {t}, {t}, '1.5', {t}, default={t}, ignoreCase={b})",
        f"#word({t})",
    ]


def _boolean_forms(n: str, t: str, b: str, x: str) -> list[str]:
    return [
        f"({n} < {n})",
        f"({t} >= {t})",
        f"({x} == {x})",
        f"({x} != null)",
        f"({x} > {n})",
        f"({b} == ({n} <= {x}))",
        f"AND({b}, {x}, {b})",
        f"OR({b}, {x})",
        f"NOT({b})",
        f"CONTAINS({t}, {t}, ignoreCase={b})",
    ]


def _loose_forms(n: str, t: str, b: str, x: str) -> list[str]:
    return [
        n,
        t,
        b,
        f"IF({b}, {n}, {t})",
        f"COALESCE({x}, {x})",
        f"LOOKUP('d', {t})",
        f"LOOKUP({x}, 'd', 'key', 'other')",
        f"LOOKUP({x}, 'two', 'other', 'value', {t}, 'key')",
        f"GET_VALUE({t}, '$.a[1]')",
        f"SWITCH({t}, {t}, {n}, {x}, {x})",
    ]


@st.composite
def formulas(draw: st.DrawFn) -> str:
    """Build a formula from its leaves up, so that few draws give a small one."""
    pools = {"n": list(NUMBERS), "t": list(TEXTS), "b": list(BOOLEANS), "x": list(LOOSE)}
    makers = {"n": _number_forms, "t": _text_forms, "b": _boolean_forms, "x": _loose_forms}
    lines: list[str] = []
    made = "null"
    for step in range(draw(st.integers(1, 7))):
        kind = draw(st.sampled_from("ntbx"))
        parts = [draw(st.sampled_from(pools[name])) for name in "ntbx"]
        made = draw(st.sampled_from(makers[kind](*parts)))
        if len(made) < 400:
            pools[kind] += [made] * 4
        if draw(st.integers(0, 5)) == 0:
            lines.append(f"SET :v{step} = {made}")
            pools[kind].append(f":v{step}")
    return "\n".join([*lines, made])


ROWS = st.fixed_dictionaries(
    {
        "n": st.one_of(
            st.decimals(allow_nan=False, allow_infinity=False),
            st.integers(-5, 5),
            st.sampled_from(["1e3", " 7 ", "0", "2", "-1", "x"]),
        ),
        "t": st.sampled_from(["", "a", "B", "1", "aXbXc", "2024-02-29", '{"a":[0,2.50]}']),
        "b": st.sampled_from([True, False, "TRUE"]),
        "when": st.sampled_from(["2024-03-31", "2024-02-30", "b"]),
    },
    optional={
        "maybe n": st.sampled_from([None, Decimal("1.50"), 0, "", 0.1]),
        "maybe t": st.sampled_from([None, "", "abc", "b"]),
        "maybe b": st.sampled_from([None, True, "false", ""]),
    },
)
