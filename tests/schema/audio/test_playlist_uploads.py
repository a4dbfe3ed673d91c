"""A playlist file that is larger than a request is uploaded first, and imported without loss."""

from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from penstock.datastore.access.ended_uploads import USED
from penstock.datastore.audio.upkeep.loose_objects import UNUSED_TIME, loose_key
from penstock.datastore.clock import Clock
from penstock.datastore.objects.port import Files
from penstock.datastore.playlists.formats.document import MAX_BYTES, FileTrack, PlaylistDocument
from penstock.datastore.playlists.formats.document import PlaylistFormat as Format
from penstock.datastore.playlists.formats.files import write
from penstock.datastore.store import Store
from penstock.server.settings.settings import Settings
from tests.datastore.audio.sample_uploads import open_files, single_chunk
from tests.support.consistency_check import contents
from tests.support.graphql_client import ROOT, Ask, as_caller
from tests.support.sample_resources import Watch
from tests.support.stores import open_table

UPLOAD = """mutation($input: CreatePlaylistUploadInput!) { createPlaylistUpload(input: $input) {
  ...on CreatePlaylistUploadPayload { objectKey form { url method fields { name value } } }
  ...on UserError { code path } } }"""
IMPORT = """mutation($input: ImportPlaylistInput!) { importPlaylist(input: $input) { __typename
  ...on ImportPlaylistPayload { playlist { id entryCount durationMs } matched unmatchedCount
    unmatched { position } }
  ...on UserError { code path message } } }"""
EXPORT = """query($id: ID!, $format: PlaylistFormat!) {
  exportPlaylist(id: $id, format: $format) { text } }"""
COUNT, FEWER = 5_000, 1_200
"""The entries of a file that no request may hold, and of one that is still written in steps."""
LARGEST_BODY = Settings.model_fields["max_body_bytes"].default


@pytest.fixture(params=["local", "s3"])
async def files(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Files]:
    async with open_files(request.param, tmp_path) as opened:
        yield opened


@pytest.fixture
async def ask(tmp_path: Path, files: Files) -> AsyncIterator[Ask]:
    async with open_table("sqlite", tmp_path) as table:
        yield Ask(Store(table, files=files))


async def send(ask: Ask, content: str, name: str = "mix.jspf") -> str:
    """Upload a file as a client would, but without the form; return its key."""
    key: str = (await ask.input(UPLOAD, fileName=name))["objectKey"]
    chunks = single_chunk(content.encode())
    await ask.store.files.write(key, chunks, content_type="application/octet-stream")
    return key


def long_file(format: Format, count: int) -> str:
    tracks = tuple(
        FileTrack(
            location=f"/music/an artist of some name/an album of some name/{n:05} a title.flac",
            title=f"A title of an ordinary length {n}",
            creator="An Artist Of Some Name",
            album="An Album Of Some Name",
            duration_ms=180_000 + n,
        )
        for n in range(count)
    )
    return write(format, PlaylistDocument(title="Long", tracks=tracks))


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("files", "format", "count"),
    [
        ("local", Format.JSPF, COUNT),
        *(("local", format, FEWER) for format in Format if format is not Format.JSPF),
        ("s3", Format.JSPF, FEWER),
    ],
    indirect=["files"],
)
async def test_a_long_export_is_imported_again(ask: Ask, format: Format, count: int) -> None:
    first = long_file(format, count)
    assert (len(first) > LARGEST_BODY) is (count == COUNT)
    given: dict[str, Any] = {"format": format.name, "keepUnmatched": True}
    made = await ask.input(IMPORT, objectKey=await send(ask, first), **given)
    assert (made["playlist"]["entryCount"], len(made["unmatched"])) == (count, count)
    exported = (await ask(EXPORT, {"id": made["playlist"]["id"], "format": format.name})).value
    again = await ask.input(
        IMPORT, objectKey=await send(ask, exported["text"]), idempotencyKey="k", **given
    )
    assert again["playlist"]["entryCount"] == count
    assert again["playlist"]["durationMs"] == made["playlist"]["durationMs"]
    last = (await ask(EXPORT, {"id": again["playlist"]["id"], "format": format.name})).value
    assert last == exported
    repeated = await ask.input(
        IMPORT, objectKey=await send(ask, exported["text"]), idempotencyKey="k", **given
    )
    assert repeated["playlist"] == again["playlist"]


async def test_a_file_that_no_request_could_hold_is_imported(ask: Ask) -> None:
    comments = f"#{'x' * 1_000}\n" * (MAX_BYTES // 1_000)
    content = f"#EXTM3U\n#PLAYLIST:Long\n{comments}#EXTINF:7,A - B\na.mp3\n"
    assert len(content) > MAX_BYTES
    key = await send(ask, content)
    wanted: dict[str, Any] = {"objectKey": key, "format": "M3U8", "keepUnmatched": True}
    await ask.input(IMPORT, **wanted, dryRun=True)
    assert USED not in (await contents(ask.store.table))[loose_key(key)]
    made = await ask.input(IMPORT, **wanted)
    assert made["playlist"] | {"id": ""} == {"id": "", "entryCount": 1, "durationMs": 7_000}
    assert USED in (await contents(ask.store.table))[loose_key(key)], "it holds no place any more"
    before = await contents(ask.store.table)
    wrong = await ask.input(IMPORT, objectKey=key, format="XSPF", keepUnmatched=True)
    assert (wrong["code"], wrong["path"]) == ("BAD_USER_INPUT", ["objectKey"])
    assert await contents(ask.store.table) == before


async def test_a_repeated_import_needs_its_uploaded_file_no_more(ask: Ask) -> None:
    content = "#EXTM3U\n#EXTINF:7,A - B\na.mp3\n#EXTINF:8,C - D\nb.mp3\n"
    key = await send(ask, content)
    given: dict[str, Any] = {"objectKey": key, "format": "M3U8", "idempotencyKey": "k", "name": "n"}
    made = await ask.input(IMPORT, **given)
    assert (made["matched"], made["unmatchedCount"], len(made["unmatched"])) == (0, 2, 2)
    await ask.store.files.delete(key)
    before = await contents(ask.store.table)
    assert await ask.input(IMPORT, **given) == {**made, "unmatched": []}
    for changes in (
        {"idempotencyKey": "other"},
        {"idempotencyKey": None},
        {"name": "other"},
        {"keepUnmatched": True},
        {"format": "XSPF"},
        {"dryRun": True},
    ):
        failed = await ask.input(IMPORT, **given | changes)
        assert (failed["code"], failed["path"]) == ("BAD_USER_INPUT", ["objectKey"]), changes
    failed = await ask.input(IMPORT, as_caller("eve"), **given)
    assert (failed["code"], failed["path"]) == ("BAD_USER_INPUT", ["objectKey"])
    watch = Watch()
    watch.time = ask.store.clock.now() + timedelta(days=1, seconds=5)
    later = replace(ask, store=replace(ask.store, clock=Clock(watch)))
    failed = await later.input(IMPORT, **given)
    assert (failed["code"], failed["path"]) == ("BAD_USER_INPUT", ["objectKey"])
    assert await contents(ask.store.table) == before


async def test_only_an_upload_of_the_callers_own_is_read(ask: Ask) -> None:
    eve = as_caller("eve")
    key = await send(ask, "[]")
    audio = "audio/root/uploads/1/mix.jspf"
    await ask.store.files.write(audio, single_chunk(b"x"), content_type="a/b")
    never_sent = (await ask.input(UPLOAD, fileName="x.m3u"))["objectKey"]
    before = await contents(ask.store.table)
    for caller, wanted in (
        (eve, key),
        (ROOT, audio),
        (ROOT, never_sent),
        (ROOT, f"{key}/../../x"),
        (ROOT, "audio/root/playlist-files/"),
        (ROOT, ""),
    ):
        failed = await ask.input(IMPORT, caller, format="JSPF", objectKey=wanted, name="n")
        assert (failed["code"], failed["path"]) == ("BAD_USER_INPUT", ["objectKey"])
    failed = await ask.input(IMPORT, format="JSPF", objectKey=key, name="n")
    assert (failed["code"], failed["path"]) == ("BAD_USER_INPUT", ["objectKey"])
    both = await ask.input(IMPORT, format="JSPF", objectKey=key, text="x", name="n")
    assert (both["code"], both["path"]) == ("BAD_USER_INPUT", ["text"])
    assert await contents(ask.store.table) == before


async def test_a_file_name_that_is_no_part_of_a_key_is_refused(ask: Ask) -> None:
    before = await contents(ask.store.table)
    for name in ("../x", "a/b", "", "x" * 300, "a\x00"):
        failed = await ask.input(UPLOAD, fileName=name)
        assert (failed["code"], failed["path"]) == ("BAD_USER_INPUT", ["fileName"])
    assert await contents(ask.store.table) == before


async def test_an_uploaded_file_is_swept_after_its_time(ask: Ask, files: Files) -> None:
    key = await send(ask, "#EXTM3U\n#PLAYLIST:x\n")
    made = await ask.input(IMPORT, format="M3U8", objectKey=key)
    assert made["playlist"]["entryCount"] == 0
    watch = Watch()
    watch.time = ask.store.clock.now() + UNUSED_TIME + timedelta(hours=2)
    assert await replace(ask.store, clock=Clock(watch)).sweep_files() == 1
    assert await files.stat(key) is None
