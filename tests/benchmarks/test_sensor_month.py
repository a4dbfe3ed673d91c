"""The benchmark of a month of one sensor, on a short day."""

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
    assert names[:3] == ["read", "nothing kept", "min"]
    charts_made = len(sensor_month.POINTS) * len(Downsampling)
    assert len(rows) == 2 + len(sensor_month.AGGREGATIONS) + charts_made


def test_a_sensor_is_read_once_the_sink_has_kept_its_hours(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sensor_month, "DAY_SECONDS", 7200)
    monkeypatch.setattr(reader, "FIRST_PAGE", 2)
    monkeypatch.setattr(charts, "MAX_SAMPLES", 3600)
    assert sensor_month.main(["--days", "1", "--sink"]) == 0
    rows = [line for line in capsys.readouterr().out.splitlines() if line.startswith("| ")]
    assert [row.split(" | ")[:3] for row in rows[1:3]] == [
        ["| kept by the sink", "", "2"],
        ["| min", "day", "1"],
    ]
