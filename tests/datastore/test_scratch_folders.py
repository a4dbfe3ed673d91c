"""Folders of killed processes are removed by the next one, and those of living ones stay."""

import asyncio
import os
import sys
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from penstock.datastore import scratch_folders
from penstock.datastore.kept_rows.engine import RowsEngine
from penstock.datastore.scratch_folders import (
    LOCK,
    make_scratch_folder,
    remove_abandoned_folders,
    scratch_folder,
)

_OWNER = """
import sys
from penstock.datastore.scratch_folders import make_scratch_folder
print(make_scratch_folder("rows").path, flush=True)
sys.stdin.read()
"""


@pytest.fixture
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of temporary files of this test alone."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    return tmp_path


class Owner:
    """Another process that owns a folder."""

    def __init__(self, process: asyncio.subprocess.Process, folder: Path) -> None:
        self.folder = folder
        self._process = process

    async def kill(self) -> None:
        if self._process.returncode is None:
            self._process.kill()
        await self._process.wait()


@asynccontextmanager
async def other_owner() -> AsyncIterator[Owner]:
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-c", _OWNER, stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE
    )
    assert process.stdout is not None
    owner = Owner(process, Path((await process.stdout.readline()).decode().strip()))
    try:
        yield owner
    finally:
        await owner.kill()


async def test_a_folder_stays_while_its_owner_lives_and_goes_after_its_kill(
    temporary: Path,
) -> None:
    async with other_owner() as owner:
        (owner.folder / "part.parquet").write_bytes(b"rows")
        (owner.folder / "spill").mkdir()
        assert remove_abandoned_folders() == 0
        assert (owner.folder / "part.parquet").read_bytes() == b"rows"
        await owner.kill()
        assert owner.folder.exists()
        assert remove_abandoned_folders() == 1
    assert list_names(temporary) == []


def list_names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_a_process_does_not_remove_its_own_folders_before_their_end(temporary: Path) -> None:
    engine = RowsEngine()
    rows = engine.folder
    made = make_scratch_folder("sif")
    with scratch_folder("run") as path:
        assert remove_abandoned_folders() == 0
        assert set(temporary.iterdir()) == {rows, made.path, path}
    assert set(temporary.iterdir()) == {rows, made.path}
    made.remove()
    assert list(temporary.iterdir()) == [rows]
    del engine
    assert list(temporary.iterdir()) == []


def test_what_is_no_abandoned_folder_of_this_user_stays(
    temporary: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = make_scratch_folder("rows")
    abandoned = temporary / "penstock-rows-abandoned"
    abandoned.mkdir()
    (abandoned / LOCK).touch()
    earlier = temporary / "penstock-rows-earlier"
    earlier.mkdir()
    linked = temporary / "elsewhere"
    linked.mkdir()
    (linked / LOCK).touch()
    (temporary / "penstock-rows-link").symlink_to(linked)
    (earlier / "kept.parquet").touch()
    link = temporary / "penstock-rows-locklink"
    link.mkdir()
    (link / LOCK).symlink_to(linked / LOCK)
    (temporary / "penstock-rows-file").touch()
    before = sorted(temporary.rglob("*"))
    monkeypatch.setattr(os, "geteuid", lambda: 12_345)
    assert remove_abandoned_folders() == 0
    assert sorted(temporary.rglob("*")) == before
    monkeypatch.undo()
    monkeypatch.setattr(tempfile, "tempdir", str(temporary))
    assert remove_abandoned_folders() == 1
    assert sorted(temporary.rglob("*")) == sorted({*before} - {abandoned, abandoned / LOCK})
    made.remove()


def test_a_folder_that_is_taken_for_abandoned_before_its_lock_is_made_again(
    temporary: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real, removed = tempfile.mkdtemp, list[str]()

    def make_and_lose(prefix: str) -> str:
        path = real(prefix=prefix)
        if not removed:
            removed.append(path)
            os.rmdir(path)
        return path

    monkeypatch.setattr(scratch_folders, "mkdtemp", make_and_lose)
    with scratch_folder("rows") as path:
        assert str(path) not in removed
        assert list(temporary.iterdir()) == [path]
