"""The benchmark of a month of one sensor, on a short day."""

from pathlib import Path

import pytest

from benchmarks import sensor_month
from penstock.datastore.ngsi.hours import reader
from penstock.datastore.ngsi.reading import charts
from penstock.datastore.ngsi.reading.downsampling import Downsampling


def test_a_sensor_is_read_by_every_method(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sensor_month, "DAY_SECONDS", 500)
    assert sensor_month.main(["--days", "1"]) == 0
    rows = [line for line in capsys.readouterr().out.splitlines() if line.startswith("| ")]
    names = [line.split(" | ")[0].removeprefix("| ") for line in rows]
    assert names[:3] == ["read", "the first one", "min"]
    assert names[-2:] == ["the sink keeps the hours", "the first one then"]
    charts_made = len(sensor_month.POINTS) * len(Downsampling)
    assert len(rows) == 4 + len(sensor_month.AGGREGATIONS) + charts_made


async def test_a_sensor_is_read_once_the_sink_has_kept_its_hours(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(sensor_month, "DAY_SECONDS", 7200)
    monkeypatch.setattr(reader, "FIRST_PAGE", 2)
    monkeypatch.setattr(charts, "MAX_SAMPLES", 3600)
    async with sensor_month.open_store(tmp_path) as store:
        await sensor_month.fill(store, 1)
        kept, read = await sensor_month.measure_sink(store, 1)
    assert (kept.name, kept.calls) == ("the sink keeps the hours", 2)
    assert (read.period, read.calls) == ("day", 1)
