"""The benchmark of executions measures the sample pipeline, and peers that compute the same."""

import csv
from decimal import Decimal, InvalidOperation
from itertools import islice
from pathlib import Path

import pytest

from benchmarks.executions import __main__ as executions
from benchmarks.executions.one_core import CASES, measure
from benchmarks.executions.peers import PEERS, measure_peer
from benchmarks.executions.rates import CaseRates, rate_table
from benchmarks.executions.stages import STAGES, measure_stages
from penstock.datastore.executions.plans.plans import build_plan
from penstock.server.samples.catalogue import sample_pipelines, sample_rows
from penstock.transform.csv_transform import CsvTransform
from penstock.transform.program import Program

ROOT = Path(__file__).parents[2]


def test_the_sample_pipeline_is_measured_with_the_rows_of_the_samples() -> None:
    case = CASES["sample"]
    (sample,) = islice(sample_pipelines(2), 1, 2)
    assert case.plan == build_plan(sample.content["transformer"])
    assert list(case.lines(1_001)) == list(sample_rows(1_001))


def value(cell: str) -> Decimal | str:
    try:
        return Decimal(cell).normalize()
    except InvalidOperation:
        return cell


@pytest.mark.parametrize("name", CASES)
def test_peers_compute_the_rows_of_the_product(name: str, tmp_path: Path) -> None:
    case, rows = CASES[name], 1_500
    data = b"".join(case.chunks(rows))
    transform = CsvTransform(Program(case.plan))
    written = transform.feed(data).output + transform.finish().output
    _, *expected = csv.reader(written.decode().splitlines())
    source, target = tmp_path / "rows.csv", tmp_path / "output.csv"
    source.write_bytes(data)
    for compute in PEERS[name].values():
        compute(source, target)
        found = csv.reader(target.read_text().splitlines())
        assert [list(map(value, row)) for row in found] == [
            list(map(value, row)) for row in expected
        ]
        assert measure_peer(case, compute, rows).written == len(expected) == rows - 1
    assert measure(case, rows).succeeded == rows - 1


def test_each_stage_names_files_of_the_product() -> None:
    files = [str(path) for path in ROOT.glob("*/**/*.py") if ".venv" not in path.parts]
    for _, parts in STAGES:
        assert all(part == "<rows>" or any(part in file for file in files) for part in parts)


def test_stages_are_of_the_time_of_a_row() -> None:
    found = measure_stages(CASES["six"], 2_000)
    assert found.microseconds > 0
    assert set(found.shares) <= {*dict(STAGES), "rows that fail", "other"}


def rates(times: float) -> dict[str, CaseRates]:
    beside = {"by hand": 9_000.0, "DuckDB": 20_000.0}
    return {"six": CaseRates(3_000.0, 1_000.0, beside), "sample": CaseRates(times, 1.0, beside)}


def test_rates_stand_beside_those_of_the_first_product() -> None:
    assert rate_table(rates(2.5)).splitlines()[2] == (
        "| six formulas | 3,000 | 30,000 | 1,000 | **3.0** | 9,000 | 20,000 |"
    )
    alone = {"six": CaseRates(3_000.0, None, {"by hand": 9_000.0, "DuckDB": 20_000.0})}
    assert (
        rate_table(alone).splitlines()[2]
        == "| six formulas | 3,000 | 30,000 |  |  | 9,000 | 20,000 |"
    )


@pytest.mark.parametrize(("times", "code"), [(3.1, 0), (2.9, 1)])
def test_the_check_fails_below_three_times(
    times: float, code: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(executions, "measure_rates", lambda *_: rates(times))
    monkeypatch.setattr(executions, "measure_all_stages", lambda _: {})
    monkeypatch.setattr(executions, "measure_runs", lambda *_: {})
    page = tmp_path / "page.md"
    marks = ("execution rates", "execution stages", "execution runs")
    page.write_text("".join(f"<!-- begin {mark} -->\n<!-- end {mark} -->\n" for mark in marks))
    assert executions.main(["--check", "--write", str(page)]) == code
    assert "| six formulas | 3,000 |" in page.read_text()
