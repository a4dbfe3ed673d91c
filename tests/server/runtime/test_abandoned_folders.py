"""Servers and workers remove, at their start, the temporary folders that a kill left behind."""

from pathlib import Path
from tempfile import mkdtemp

from penstock.datastore.scratch_folders import LOCK, scratch_folder
from tests.support.penstock_command import penstock, start_server


def abandoned_folder() -> Path:
    """A folder as a killed process leaves it."""
    path = Path(mkdtemp(prefix="penstock-rows-"))
    (path / LOCK).touch()
    (path / "part.parquet").write_bytes(b"rows")
    return path


def test_a_start_removes_folders_of_killed_processes_and_none_of_living_ones(
    tmp_path: Path,
) -> None:
    data = ("--data-dir", str(tmp_path / "data"))
    with scratch_folder("rows") as living:
        abandoned = abandoned_folder()
        with start_server(tmp_path / "log", "--port", "0", "--no-seed", *data) as server:
            assert not abandoned.exists()
            assert server.end() == 0
        abandoned = abandoned_folder()
        assert penstock("worker", "--once", *data).returncode == 0
        assert not abandoned.exists()
        assert living.exists()
