"""Every table of measured times and memory comes from one command, and no failure stops it."""

import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

import pytest

from benchmarks import __main__ as bench
from benchmarks.whole_form import __main__ as whole_form
from benchmarks.whole_form import registry
from benchmarks.whole_form.registry import BENCHMARKS, ROOT, WholeBenchmark

MARK: Final = re.compile(r"^<!-- (begin|end) (.+) -->$")
RULER: Final = re.compile(r"\|(?: *:?-+:? *\|)+")
UNIT: Final = r"(?:s|ms|µs|ns|min|minutes?|seconds?|microseconds?|KB|MB|MiB|GB)"
IN_HEADING: Final = re.compile(rf"(?<![\w.]){UNIT}(?!\w)|\w/s(?!\w)|processor")
IN_NUMBERS: Final = re.compile(rf"[\d.,]+ {UNIT}(?!\w)")
NOT_MEASURED: Final[Mapping[tuple[str, str], str]] = {
    ("docs/aws.md", "item or partition"): "ceilings are computed from the limits of DynamoDB",
    ("docs/install.md", "step"): "sizes of what is installed; tests/test_packaging.py holds them",
    (
        "docs/performance.md",
        "optimisation",
    ): "what a change gained when it was made",
    ("docs/performance.md", "µs"): "a protocol that was removed, and cannot be measured any more",
}
"""Tables with units of time or memory that no benchmark measures, by page and first heading."""


def pages() -> list[Path]:
    """All pages but decisions, which keep the numbers of their day."""
    found = [ROOT / "README.md", ROOT / "benchmarks" / "README.md", *ROOT.glob("docs/**/*.md")]
    return sorted(page for page in found if page.parent.name != "decisions")


def marks_of(page: Path) -> list[tuple[str, str]]:
    """The edges of marks in their order, each with the mark."""
    found = map(MARK.match, page.read_text().splitlines())
    return [(edge[1], edge[2]) for edge in found if edge is not None]


def tables_outside_marks(page: str) -> Iterator[list[str]]:
    """The lines of each table that is not between marks, nor in a block of code."""
    is_outside, is_text, table = True, True, list[str]()
    for line in [*page.splitlines(), ""]:
        if line.startswith("|") and is_outside and is_text:
            table.append(line)
            continue
        if len(table) > 2 and RULER.fullmatch(table[1]):
            yield table
        table = []
        is_text ^= line.startswith("```")
        if found := MARK.match(line):
            is_outside = found[1] == "end"


def is_measured(table: Sequence[str]) -> bool:
    """Whether numbers stand below a heading with a unit, or with one in a column of numbers.

    A unit in the first heading is that of all columns.
    """
    heading, ruler, *rows = map(cells_of, table)
    for head, rule, *cells in zip(heading, ruler, *rows, strict=True):
        has_unit = IN_HEADING.search(head) or IN_HEADING.search(heading[0])
        if has_unit and any(cell[:1].isdigit() for cell in cells):
            return True
        if rule.endswith("--:") and any(map(IN_NUMBERS.match, cells)):
            return True
    return False


def cells_of(line: str) -> list[str]:
    return [cell.strip() for cell in line.strip("|").split("|")]


def test_each_mark_of_a_page_has_one_benchmark_and_the_other_way_round() -> None:
    written = [(one.page, mark) for one in BENCHMARKS.values() for mark in one.marks]
    found = [
        (str(page.relative_to(ROOT)), mark)
        for page in pages()
        for edge, mark in marks_of(page)
        if edge == "begin"
    ]
    assert sorted(found) == sorted(written)


def test_each_mark_begins_and_ends() -> None:
    for page in pages():
        edges = marks_of(page)
        begun = [mark for _, mark in edges[::2]]
        assert edges == [(edge, mark) for mark in begun for edge in ("begin", "end")]


def test_no_table_of_measured_times_or_memory_is_written_by_hand() -> None:
    found = {
        (str(page.relative_to(ROOT)), cells_of(table[0])[0])
        for page in pages()
        for table in tables_outside_marks(page.read_text())
        if is_measured(table)
    }
    assert found == set(NOT_MEASURED)


@pytest.mark.parametrize(
    ("table", "measured"),
    [
        ("| work | takes |\n|---|--:|\n| a | 3.5 ms |", True),
        ("| work | ms |\n|---|--:|\n| a | 3 |", True),
        ("| work | rows/s |\n|---|---|\n| a | 3 |", True),
        ("| ms | by hand |\n|---|---|\n| a | 3 |", True),
        ("| work | calls | read units |\n|---|--:|--:|\n| a | 1 for 100 | 3 |", False),
        ("| limit | at most |\n|---|---|\n| a row | 1 MiB |", False),
        ("| place | marks |\n|---|--:|\n| a | 3 |", False),
    ],
)
def test_a_table_is_measured_if_its_numbers_have_units(table: str, *, measured: bool) -> None:
    assert [is_measured(one) for one in tables_outside_marks(table)] == [measured]
    inside = f"<!-- begin a -->\n\n{table}\n\n<!-- end a -->\n\n```\n{table}\n```"
    assert list(tables_outside_marks(inside)) == []


def test_each_benchmark_writes_its_tables() -> None:
    lines = [one.line(is_brief=False, writes=False) for one in BENCHMARKS.values()]
    modules = {line[2] for line in lines if line[0] == sys.executable}
    for module in modules | {"benchmarks.peers", "tests.scale"}:
        path = ROOT / module.replace(".", "/")
        source = path / "__main__.py" if path.is_dir() else path.with_suffix(".py")
        assert "add_write_option(parser)" in source.read_text(), module


WRITER: Final = """
import sys
from pathlib import Path
from benchmarks.page_tables import show_tables
if sys.argv[1] == "fail":
    sys.exit(3)
show_tables({"b": sys.argv[1]}, Path(sys.argv[3]))
"""


def three_benchmarks(page: Path) -> Mapping[str, WholeBenchmark]:
    """One that fails, one that writes its argument, and one that is left out."""

    def command(arguments: Sequence[str]) -> list[str]:
        return [sys.executable, "-c", WRITER, *arguments]

    return {
        "fails": WholeBenchmark(command, str(page), ("a",), 1, whole="fail"),
        "writes": WholeBenchmark(command, str(page), ("b",), 2, whole="new"),
        "needs": WholeBenchmark(command, str(page), ("c",), 3, needs="PENSTOCK_NO_SUCH_VARIABLE"),
    }


def test_one_that_fails_leaves_its_table_and_the_others_go_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    page = tmp_path / "page.md"
    page.write_text("\n".join(f"<!-- begin {mark} -->old<!-- end {mark} -->" for mark in "abc"))
    monkeypatch.setattr(whole_form, "BENCHMARKS", three_benchmarks(page))
    assert bench.main(["--whole", "--write"]) == 1
    assert page.read_text() == (
        "<!-- begin a -->old<!-- end a -->\n"
        "<!-- begin b -->\n\nnew\n\n<!-- end b -->\n"
        "<!-- begin c -->old<!-- end c -->"
    )
    said = capsys.readouterr().err.splitlines()
    assert [line for line in said if " of 3, " in line] == [
        "1 of 3, fails: 1 of 6 min that are left",
        "2 of 3, writes: 2 of 5 min that are left",
        "3 of 3, needs: 3 of 3 min that are left",
    ]
    assert [line.rpartition(",")[0] for line in said[-3:]] == [
        "fails: failed with 3",
        "writes: done",
        "needs: left out, as PENSTOCK_NO_SUCH_VARIABLE is not set",
    ]


def test_nothing_is_measured_for_a_page_without_a_place(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    page = tmp_path / "page.md"
    page.write_text("<!-- begin a --><!-- end a -->")
    monkeypatch.setattr(whole_form, "BENCHMARKS", three_benchmarks(page))
    assert bench.main(["--whole", "--write", "--only", "fails", "writes"]) == 1
    assert capsys.readouterr().err == f"writes, {page}: the page has 0 places for 'b'\n"


def test_the_list_says_what_there_is(capsys: pytest.CaptureFixture[str]) -> None:
    assert bench.main(["--whole", "--list", "--only", "tag_search"]) == 0
    assert capsys.readouterr().out == (
        "tag_search: two tags, summary, all in docs/tag-search.md, 1.5 min\n"
    )


def test_a_benchmark_is_run_by_its_command_line() -> None:
    peers = registry.make("peers")(["--rounds", "7", "--write", "docs/performance.md"])
    assert peers == ["make", "-s", "peers", "PEERS=--rounds 7 --write docs/performance.md"]
    line = BENCHMARKS["more_kept_rows"].line(is_brief=False, writes=True)
    assert line[1:5] == ["-m", "benchmarks.kept_rows", "--rows", "10000000"]
    assert line[5:] == ["--mark", "more kept rows", "--write", "docs/kept-rows.md"]
    briefly = BENCHMARKS["audio"].line(is_brief=True, writes=False)
    assert briefly[1:] == ["-m", "benchmarks.audio", "--tracks", "40"]
