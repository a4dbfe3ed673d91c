"""The costs of audio, measured on a small library; they grow with its size."""

from pathlib import Path

import pytest

from benchmarks.audio import Row, main, measure_costs


async def test_no_operation_costs_more_than_the_design_calculated() -> None:
    rows = {row.operation: row for row in await measure_costs(400)}
    # Rounding to whole units counts more in short lists.
    whole = {name for name in rows if name.startswith(("2 all", "5 ", "6 ", "7 "))}
    assert [str(row) for name, row in rows.items() if not row.is_kept and name not in whole] == []
    assert rows["1 one audio, RCU"].measured == 1.0
    assert rows["add one track by itself, WCU"].measured == 22
    assert 14 < rows["import, a track"].measured < 15


def test_a_number_that_is_higher_is_told() -> None:
    assert Row("x", "", 1.0, 1.0).is_kept
    assert not Row("x", "", 1.0, 1.5).is_kept
    assert Row("x", "", None, 99.0).is_kept


def test_the_page_is_written(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    page = tmp_path / "page.md"
    page.write_text("<!-- begin costs --><!-- end costs -->")
    assert main(["--tracks", "40", "--write", str(page)]) == 0
    assert "| 1 one audio, RCU |" in page.read_text()
    assert "| 1 one audio, RCU |" in capsys.readouterr().out
