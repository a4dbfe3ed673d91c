"""The bars that show the progress of long work on a terminal."""

import pytest

from penstock.server.core.progress_bars import show_byte_progress


@pytest.mark.parametrize(
    ("done", "shown"),
    [(0, "0/? bytes"), (3_100_000, "3.1/6.2 MB"), (6_200_000, "6.2/6.2 MB")],
)
def test_a_bar_has_a_total_once_something_is_done(
    done: int,
    shown: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    for name, value in (("FORCE_COLOR", "1"), ("COLUMNS", "120"), ("TERM", "xterm")):
        monkeypatch.setenv(name, value)
    with show_byte_progress("rows.csv") as report_progress:
        report_progress("Uploading", 0, 6_200_000)
        report_progress("In progress", done, 6_200_000)
    last = capsys.readouterr().err.rpartition("rows.csv: in progress")[2]
    assert shown in last
