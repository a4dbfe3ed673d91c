"""One function for a row gives the cells that its steps give, and none if the row has problems."""

from collections.abc import Sequence

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from penstock.formula.codegen.emitter import MOST_INLINED
from penstock.formula.core.values import FormulaType
from penstock.transform import csv_transform
from penstock.transform.csv_transform import CsvTransform
from penstock.transform.outcome import OutputChunk, RowCounts
from penstock.transform.plan import Column, FormulaStep, TransformPlan
from penstock.transform.problems import TransformProblem
from penstock.transform.program import Program
from penstock.transform.row_identity import TIMES, RowIdentity, RowReach
from penstock.transform.row_routine import RowRoutine, RowsDone

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
    st.sampled_from(["", "1", "2.50", "-0", "1e3", " 7 ", "far", "9" * 50, "1" * 1200])
    | st.sampled_from(
        [".5", "5.", ".", "1.2.3", "\u0661", "\u00b2", "1\u0660.5", "-2.5", "-", "+1"]
    )
    | st.from_regex(r"[0-9.]{78,82}", fullmatch=True),
    st.sampled_from(["", "2024-02-29T00:00:00Z", "soon"]),
)
PROGRAMS = {n: Program(TransformPlan(COLUMNS, STEPS[:n])) for n in range(1, len(STEPS) + 1)}
ROUTINES = {n: program.compile_rows(PLACES, 4) for n, program in PROGRAMS.items()}


def run_one(routine: RowRoutine, fields: Sequence[str]) -> tuple[list[str], int] | None:
    """The cells of a row and their characters; None if it is not in order."""
    kept: list[list[str]] = []
    done = RowsDone(*routine.run(map(routine.read, [fields]), kept.append, 10**9))
    assert done.rows == len(kept) == done.in_order
    return (kept[0], done.characters) if kept else None


def run_steps(program: Program, entries: list[str | None]) -> tuple[list[str], int] | None:
    problems: list[TransformProblem] = []
    values = program.read_values(1, entries, problems)
    cells = [] if problems else program.evaluate_row(1, values, problems)
    return None if problems else (cells, len("".join(cells)))


@pytest.mark.parametrize("count", range(1, len(STEPS) + 1))
@example(fields=("axb", "true", "1", ""))
@given(fields=FIELDS)
def test_a_row_has_the_cells_of_its_steps(count: int, fields: tuple[str, ...]) -> None:
    program = PROGRAMS[count]
    entries = [None if place is None else fields[place] for place in PLACES]
    assert run_one(ROUTINES[count], fields) == run_steps(program, entries)


@given(st.sampled_from(["", "k", "x" * 2_000]), st.sampled_from(["/A/b", "/a", "/c", "", "?"]))
def test_a_row_that_is_kept_has_its_group_in_plain_form(key: str, group: str) -> None:
    columns = (Column("key", STRING), Column("group", STRING))
    steps = (FormulaStep(":key", "key", STRING), FormulaStep(":group", "group", STRING))
    rows = RowIdentity(key=(0,), time=None, group=1, owner="/a")
    program = Program(TransformPlan(columns, steps, rows=rows), parse_group=str.lower)
    routine = program.compile_rows((0, 1), 2)
    found = run_one(routine, [key, group])
    assert found == run_steps(program, [key, group]) == run_one(routine, [key, group])
    kept = key == "k" and group in {"/A/b", "/a"}
    assert found == ((["k", group.lower()], 1 + len(group)) if kept else None)


def test_a_group_in_another_form_is_written_in_plain_form_each_time() -> None:
    rows = RowIdentity(
        key=(0,), time=None, group=1, owner="/a", reach=RowReach(below={"/a/c": False})
    )
    steps = (FormulaStep("1", "key", NUMBER), FormulaStep(":group", "group", STRING))
    plan = TransformPlan((Column("group", STRING),), steps, rows=rows)
    routine = Program(plan, parse_group=str.lower).compile_rows((0,), 1)
    written = [run_one(routine, [group]) for group in ("/A/b", "/a/b", "/A/b", "/a/c", "/a/c")]
    assert written == [(["1", "/a/b"], 5)] * 3 + [None] * 2


MOMENTS = st.sampled_from(["", "0", "-1", "1.5", "9" * 14, "9" * 15, "9" * 16]) | st.integers(
    -62_104_060_800_002, -62_104_060_799_998
).map(str)


@given(MOMENTS | st.integers(253_339_228_799_998, 253_339_228_800_002).map(str), st.booleans())
def test_a_row_is_kept_for_its_time_as_its_steps_say(moment: str, iso: bool) -> None:
    rows = RowIdentity(key=(1,), time=0, group=None, owner="/a")
    steps = (FormulaStep(":n", "at", FormulaType.TIMESTAMP), FormulaStep("1", "key", NUMBER))
    plan = TransformPlan((Column("n", NUMBER),), steps, rows=rows, iso_timestamps=iso)
    program = Program(plan)
    found = run_one(program.compile_rows((0,), 1), [moment])
    assert found == run_steps(program, [moment])
    is_usual = moment.lstrip("-").isdigit() and int(moment) in TIMES
    assert (found is not None) == is_usual


LONG = " + ".join([":a"] * (MOST_INLINED + 2))
DEEP = "IF(:a == 1, " * 60 + ":a" + ", 0)" * 60
EARLIER = "IF(REF('one') == 2, " * 60 + "REF('one')" + ", 0)" * 60


@pytest.mark.parametrize("formula", [LONG, DEEP, EARLIER], ids=["long", "deep", "earlier"])
@given(entry=st.sampled_from(["", "1", "2", "1" * 999, "far"]))
def test_a_formula_that_stays_apart_gives_the_same(formula: str, entry: str) -> None:
    steps = (
        FormulaStep(":a", "one", NUMBER, "one"),
        FormulaStep(formula, "two", NUMBER, "two"),
        FormulaStep("REF('two')", "three", NUMBER),
    )
    program = Program(TransformPlan((Column("a", NUMBER),), steps))
    assert run_one(program.compile_rows((0,), 1), [entry]) == run_steps(program, [entry])


BLOCKS = st.lists(
    st.sampled_from(
        [
            "1,x",
            "2,y\r",
            "3,\u00df",
            '4,"q, ""r"',
            '5,"two\nlines"',
            "6",
            "",
            "\r",
            "7,z,8",
            "far,x",
        ]
    ),
    max_size=12,
)


@given(BLOCKS, st.integers(1, 5))
def test_rows_done_at_once_are_those_done_one_by_one(lines: list[str], size: int) -> None:
    columns = (Column("a", NUMBER), Column("b", STRING))
    steps = (FormulaStep(":a * 2", "twice", NUMBER), FormulaStep(":b", "b", STRING))
    program = Program(TransformPlan(columns, steps))
    data = "\n".join(["a,b", *lines, ""]).encode()
    one_by_one = [line.encode() + b"\n" for line in ["a,b", *lines]]
    assert transform_pieces(CsvTransform(program), one_by_one) == transform_pieces(
        CsvTransform(program), [data]
    )
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(csv_transform, "BLOCK", size)
        patched.setattr(csv_transform, "PIECE", 3)
        assert transform_pieces(CsvTransform(program), [data]) == transform_pieces(
            CsvTransform(program), one_by_one
        )


def transform_pieces(
    transform: CsvTransform, pieces: Sequence[bytes]
) -> tuple[OutputChunk, RowCounts]:
    found = OutputChunk()
    for piece in pieces:
        found = found.concat(transform.feed(piece))
    found = found.concat(transform.finish())
    return found, transform.ending.counts
