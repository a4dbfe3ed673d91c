"""The short form of the benchmarks compares its figures with those of the last release."""

from pathlib import Path

import pytest
from msgspec import structs

from benchmarks.short_form import __main__ as short_form
from benchmarks.short_form.benchmarks import BENCHMARKS
from benchmarks.short_form.figures import (
    Figure,
    find_worse,
    list_figures,
    read_figures,
    relate_times,
    replace_measured,
    table_lines,
    write_figures,
)

SLOW = Figure("formula", "trivial", "µs", 2.0, 40.0)
SMALL = Figure("names", "one name", "read units", 3.0)


def test_times_are_related_to_the_machine_and_units_are_not() -> None:
    plain = Figure("formula", "trivial", "µs", 2.0)
    assert relate_times([plain, SMALL], 0.05) == [SLOW, SMALL]


def test_a_number_is_worse_if_it_is_larger_by_more_than_a_third() -> None:
    last = {one.title: one for one in (SLOW, SMALL)}
    faster_machine = Figure("formula", "trivial", "µs", 1.0, 60.0)
    assert find_worse([faster_machine], last) == [faster_machine]
    assert find_worse([Figure("formula", "trivial", "µs", 9.0, 53.0)], last) == []
    assert find_worse([Figure("names", "one name", "read units", 4.0)], last) == []
    dearer = Figure("names", "one name", "read units", 4.5)
    assert find_worse([dearer], last) == [dearer]


def test_a_number_that_is_the_same_in_each_run_may_not_grow_at_all() -> None:
    last = {SMALL.title: SMALL}
    exact = structs.replace(SMALL, is_exact=True)
    assert find_worse([exact], last) == []
    dearer = structs.replace(exact, value=3.5)
    assert find_worse([dearer], last) == [dearer]
    assert find_worse([structs.replace(exact, value=2.5)], last) == []


def test_figures_of_peers_are_told_by_their_names() -> None:
    found = list_figures("tags", "read units", {"a page": 27.0, "a page, calculated": 1.0})
    assert [one.is_beside for one in found] == [False, True]
    assert [one.is_exact for one in list_figures("tags", "calls", {"a": 1.0}, exact=True)] == [True]


def test_a_peer_that_is_slower_is_not_worse() -> None:
    floor = structs.replace(SLOW, ratio=400.0, is_beside=True)
    assert find_worse([floor], {SLOW.title: SLOW}) == []


def test_what_the_last_release_did_not_measure_is_not_worse() -> None:
    assert find_worse([SLOW], {}) == []
    assert list(table_lines([SLOW], {}))[2:] == ["| formula | trivial | 2.0 µs | new |  |"]


def test_the_table_shows_the_last_release_beside_each_number() -> None:
    last = {one.title: one for one in (SLOW, SMALL)}
    now = [Figure("formula", "trivial", "µs", 1.5, 20.0), SMALL]
    assert list(table_lines(now, last))[2:] == [
        "| formula | trivial | 1.5 µs | 2.0 µs | 0.50 |",
        "| names | one name | 3.0 read units | 3.0 read units | 1.00 |",
    ]


def test_figures_are_read_as_they_were_written(tmp_path: Path) -> None:
    path = tmp_path / "figures.json"
    assert read_figures(path) == {}
    write_figures(path, [SLOW, SMALL])
    assert list(read_figures(path).values()) == [SLOW, SMALL]


def test_figures_that_were_not_measured_again_stay() -> None:
    gone = Figure("names", "a name that is not searched now", "read units", 1.0)
    saved = {one.title: one for one in (SLOW, gone)}
    assert replace_measured(saved, [SMALL]) == [SLOW, SMALL]


def test_the_last_release_has_figures_of_every_benchmark() -> None:
    known = {one.benchmark for one in read_figures(short_form.LAST).values()}
    assert len(known) == len(BENCHMARKS)


def test_a_worse_number_is_measured_again_and_then_fails(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    runs = [[structs.replace(SMALL, value=9.0)], [structs.replace(SMALL, value=8.0)]]
    last = tmp_path / "last.json"
    write_figures(last, [SMALL])
    monkeypatch.setattr(short_form, "_measure_in_process", lambda _name: runs.pop(0))
    assert short_form.main(["--only", "names", "--last", str(last)]) == 1
    assert runs == []
    said = capsys.readouterr()
    assert said.out.splitlines()[-1].endswith("| 8.0 read units | 3.0 read units | 2.67 |")
    assert said.err.splitlines()[-1] == ("worse than the last release: names: one name, read units")
