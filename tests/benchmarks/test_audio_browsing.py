"""The costs of browsing, measured on a small library."""

from pathlib import Path

import pytest

from benchmarks.audio_browsing import main


def test_the_page_is_written(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    page = tmp_path / "page.md"
    page.write_text("<!-- begin browsing costs --><!-- end browsing costs -->")
    assert main(["--tracks", "40", "--write", str(page)]) == 0
    assert "| a smart playlist: all tracks, by title | 3.0 | 1 |" in page.read_text()
    assert "| 50 tracks at random |" in capsys.readouterr().out
