"""The process that transforms parts says no value where it fails."""

import io

import pytest

from penstock.server.runtime import part_process

SECRET = "-".join(("of", "a", "row"))


def test_a_part_process_that_fails_prints_no_value(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail(_orders: object, _results: object) -> None:
        int(SECRET)

    monkeypatch.setattr(part_process, "transform_parts", fail)
    monkeypatch.setattr(part_process, "_take_output", io.BytesIO)
    with pytest.raises(SystemExit) as ended:
        part_process.main()
    said = capsys.readouterr().err
    assert ended.value.code == 1
    assert said.startswith("Traceback")
    assert "in fail" in said
    assert SECRET not in said
    assert said.endswith("\nValueError\n")
