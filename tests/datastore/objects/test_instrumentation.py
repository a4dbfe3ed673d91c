"""Instrumented files answer as plain ones, and report each call without its key."""

from contextlib import aclosing
from pathlib import Path

import pytest

from penstock.datastore.errors import NotFound
from penstock.datastore.objects.directory import LocalFiles
from penstock.datastore.objects.instrumentation import InstrumentedFiles
from tests.datastore.objects.conftest import SECRET, broken_stream, stream, whole
from tests.support.call_recorder import Watcher

BLOCK = 1_000_000


def calls(watcher: Watcher) -> list[tuple[str, type[BaseException] | None]]:
    assert watcher.begun == watcher.ended
    return [(call.method, call.raised) for call in watcher.ended]


@pytest.fixture
def watcher() -> Watcher:
    return Watcher()


@pytest.fixture
async def files(tmp_path: Path, watcher: Watcher) -> InstrumentedFiles:
    local = await LocalFiles.open(tmp_path, base_url="http://localhost", key=SECRET)
    return InstrumentedFiles(local, [watcher])


async def test_every_call_is_shown_and_signing_is_none(
    files: InstrumentedFiles, watcher: Watcher
) -> None:
    etag = await files.write("a/1", stream(b"one"), content_type="text/csv")
    stat = await files.stat("a/1")
    assert stat is not None
    assert (stat.size, stat.etag) == (3, etag)
    assert await whole(files.read("a/1", start=1, end=3)) == b"ne"
    await files.copy("a/1", "a/2")
    assert await files.list("a/") == ("a/1", "a/2")
    assert await files.list_folders("") == ("a/",)
    await files.delete("a/1")
    await files.presign_download("a/2", expires_in=60)
    await files.presign_upload("a/3", max_bytes=1, content_type="text/csv", expires_in=60)
    assert await files.verify() == []
    methods = ("upload", "stat", "read", "copy", "list", "list", "delete")
    assert calls(watcher) == [(method, None) for method in methods]
    await files.close()


async def test_a_read_lasts_until_its_last_byte(files: InstrumentedFiles, watcher: Watcher) -> None:
    await files.write("a", stream(bytes(BLOCK)), content_type="text/csv")
    async with aclosing(files.read("a")) as chunks:
        await anext(chunks)
        assert (len(watcher.begun), len(watcher.ended)) == (2, 1)
        rest = [chunk async for chunk in chunks]
        assert rest
    assert calls(watcher) == [("upload", None), ("read", None)]


async def test_a_read_that_is_given_up_ends_and_did_not_fail(
    files: InstrumentedFiles, watcher: Watcher
) -> None:
    await files.write("a", stream(bytes(BLOCK)), content_type="text/csv")
    async with aclosing(files.read("a")) as chunks:
        await anext(chunks)
    assert calls(watcher) == [("upload", None), ("read", None)]


async def test_what_failed_is_shown_by_its_type_and_raises_as_before(
    files: InstrumentedFiles, watcher: Watcher
) -> None:
    with pytest.raises(NotFound):
        await whole(files.read("none"))
    with pytest.raises(ZeroDivisionError):
        await files.write("a", broken_stream(), content_type="text/csv")
    assert calls(watcher) == [("read", NotFound), ("upload", ZeroDivisionError)]
    assert await files.list("") == ()
