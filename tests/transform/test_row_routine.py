"""One function for a row gives the cells that its steps give, and none if the row has problems."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.formula.core.values import FormulaType
from penstock.transform.plan import Column, FormulaStep, TransformPlan
from penstock.transform.problems import TransformProblem
from penstock.transform.program import Program
from penstock.transform.row_identity import RowIdentity

NUMBER, STRING = FormulaType.NUMBER, FormulaType.STRING
COLUMNS = (
    Column("a", NUMBER),
    Column("b", STRING),
    Column("c", FormulaType.BOOLEAN),
    Column("d", FormulaType.TIMESTAMP),
    Column("absent", NUMBER),
)
STEPS = (
    FormulaStep(":a * 3", "thrice", NUMBER, "thrice"),
    FormulaStep("IF(:c, UPPERCASE(:b), :b)", "text", STRING, "text"),
    FormulaStep("CONCAT(REF('text'), REF('thrice'))", "both", STRING),
    FormulaStep(":a == 2", "is two", FormulaType.BOOLEAN),
    FormulaStep(":absent", "nothing", NUMBER),
    FormulaStep("SPLIT(:b, 'x')", "parts", STRING, "parts"),
    FormulaStep("REF('parts')", "parts again", STRING),
)
PLACES = (2, 0, 1, 3, None)
FIELDS = st.tuples(
    st.sampled_from(["", "x", "axb", "\u00df", '"', "y" * 40_000]),
    st.sampled_from(["", "true", "FALSE", "perhaps"]),
    st.sampled_from(["", "1", "2.50", "-0", "1e3", " 7 ", "far", "9" * 50, "1" * 1200]),
    st.sampled_from(["", "2024-02-29T00:00:00Z", "soon"]),
)
PROGRAMS = {n: Program(TransformPlan(COLUMNS, STEPS[:n])) for n in range(1, len(STEPS) + 1)}
ROUTINES = {n: program.compile_row(PLACES) for n, program in PROGRAMS.items()}


def run_steps(program: Program, entries: list[str | None]) -> tuple[list[str], int] | None:
    problems: list[TransformProblem] = []
    values = program.read_values(1, entries, problems)
    cells = [] if problems else program.evaluate_row(1, values, problems)
    return None if problems else (cells, len("".join(cells)))


@pytest.mark.parametrize("count", range(1, len(STEPS) + 1))
@given(fields=FIELDS)
def test_a_row_has_the_cells_of_its_steps(count: int, fields: tuple[str, ...]) -> None:
    program = PROGRAMS[count]
    entries = [None if place is None else fields[place] for place in PLACES]
    assert ROUTINES[count](fields) == run_steps(program, entries)


@given(st.sampled_from(["", "k", "x" * 2_000]), st.sampled_from(["/A/b", "/a", "/c", "", "?"]))
def test_a_row_that_is_kept_has_its_group_in_plain_form(key: str, group: str) -> None:
    columns = (Column("key", STRING), Column("group", STRING))
    steps = (FormulaStep(":key", "key", STRING), FormulaStep(":group", "group", STRING))
    rows = RowIdentity(key=(0,), time=None, group=1, owner="/a")
    program = Program(TransformPlan(columns, steps, rows=rows), parse_group=str.lower)
    found = program.compile_row((0, 1))([key, group])
    assert found == run_steps(program, [key, group])
    kept = key == "k" and group in {"/A/b", "/a"}
    assert found == ((["k", group.lower()], 1 + len(group)) if kept else None)
