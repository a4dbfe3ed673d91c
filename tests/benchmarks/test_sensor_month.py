"""The benchmark of a month of one sensor, on a short day."""

import pytest

from benchmarks import sensor_month


def test_a_sensor_is_read_by_every_method(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sensor_month, "DAY_SECONDS", 500)
    assert sensor_month.main(["--days", "1"]) == 0
    rows = [line for line in capsys.readouterr().out.splitlines() if line.startswith("| ")]
    names = [line.split(" | ")[0].removeprefix("| ") for line in rows]
    assert names[:3] == ["read", "nothing kept", "min"]
    assert len(rows) == 1 + 2 * (1 + len(sensor_month.METHODS))
