"""An upload becomes a track with its tags, its cover and signed URLs of both."""

import asyncio
from datetime import UTC, datetime, timedelta
from urllib.parse import parse_qs, urlsplit

import pytest
from msgspec.structs import replace

from penstock.datastore.audio.library import AudioLibrary
from penstock.datastore.audio.object_keys import artwork_key
from penstock.datastore.audio.records import Audio, AudioFormat, Tags
from penstock.datastore.audio.stream_urls import url_lifetime
from penstock.datastore.audio.uploads import MAX_UPLOAD
from penstock.datastore.errors import Invalid, NotFound, ObjectTaken, VersionConflict
from penstock.datastore.objects.directory import LocalFiles
from penstock.datastore.objects.no_files import NO_FILES
from penstock.datastore.objects.port import Files
from penstock.datastore.roles import Caller
from penstock.datastore.store import Store
from penstock.datastore.table.pages import Window
from tests.datastore.audio.sample_library import BOB, drift, library_rows, listener
from tests.datastore.audio.sample_uploads import (
    COVER,
    TAGS,
    content_of,
    put,
    sound,
    upload_and_register,
)

locally = pytest.mark.parametrize("files", ["local"], indirect=True)
"""For tests of logic that no store of files sees."""

ALL = Window(size=1000)


@pytest.mark.parametrize("name", ["wav", "flac", "mp3", "opus", "m4a"])
async def test_an_upload_becomes_a_track_with_all_that_its_tags_say(
    library: AudioLibrary, files: Files, name: str
) -> None:
    content = sound(name, 2, TAGS, COVER)
    track = await upload_and_register(library, f"02 Hélls.{name}", content)
    stat = await files.stat(track.object_key)
    assert stat is not None
    assert {field: getattr(track, field) for field in Tags.__struct_fields__} == {
        field: getattr(TAGS, field) for field in Tags.__struct_fields__
    }
    assert track.object_key.startswith("audio/ann/tracks/")
    assert (track.bucket, track.file_name) == (files.bucket, f"02 Hélls.{name}")
    assert (track.format, track.size, track.etag) == (AudioFormat(name), len(content), stat.etag)
    assert track.duration_ms == pytest.approx(2000, abs=20)
    assert track.artwork is not None
    assert await content_of(files, artwork_key("ann", track.artwork)) == COVER
    assert await drift(library.reading.access.table) == []


async def test_covers_of_one_content_are_kept_once(library: AudioLibrary, files: Files) -> None:
    first = await upload_and_register(library, "1.mp3", sound("mp3", 1, TAGS, COVER))
    second = await upload_and_register(library, "2.flac", sound("flac", 1, TAGS, COVER))
    third = await upload_and_register(library, "3.mp3", sound("mp3", 1, TAGS, COVER + b"\0"))
    assert first.artwork == second.artwork != third.artwork
    assert len(await files.list("audio/ann/artwork/")) == 2


async def test_a_cover_that_is_no_picture_is_left_out(library: AudioLibrary, files: Files) -> None:
    track = await upload_and_register(library, "1.mp3", sound("mp3", 1, TAGS, b"<svg onload=x>"))
    assert track.artwork is None
    assert await files.list("audio/ann/artwork/") == ()


async def test_an_object_is_registered_once(library: AudioLibrary) -> None:
    key = await put(library, "1.mp3", sound("mp3", 1, TAGS))
    outcomes = await asyncio.gather(
        *(library.registering.register(key) for _ in range(4)), return_exceptions=True
    )
    (track,) = [outcome for outcome in outcomes if isinstance(outcome, Audio)]
    with pytest.raises(ObjectTaken) as refused:
        await library.registering.register(key)
    assert refused.value.existing == track.id
    assert (await library.reading.totals()).count == 1


@locally
@pytest.mark.parametrize("content", [b"", b"plain words", b"fLaC" + bytes(100)])
async def test_what_is_no_audio_is_refused_and_changes_nothing(
    library: AudioLibrary, content: bytes
) -> None:
    key = await put(library, "song.mp3", content)
    with pytest.raises(Invalid) as refused:
        await library.registering.register(key)
    assert refused.value.problems[0].path == ["objectKey"]
    assert await library_rows(library.reading.access.table) == {}


async def test_what_another_user_uploaded_cannot_be_registered(
    library: AudioLibrary, files: Files
) -> None:
    key = await put(library, "1.mp3", sound("mp3", 1, TAGS))
    theirs = listener(Store(library.reading.access.table, files=files), BOB)
    unheard = "audio/bob/uploads/none/1.mp3"
    for wanted in (key, unheard, "pipelines/x", key.replace("ann", "bob/../ann"), "", "audio/bob/"):
        with pytest.raises(NotFound, match=r"^There is no such object\.$"):
            await theirs.registering.register(wanted)
    assert await library_rows(library.reading.access.table) == {}


@pytest.mark.parametrize(
    ("name", "kind", "field"),
    [
        ("a/b.mp3", "audio/mpeg", "fileName"),
        ("..", "audio/mpeg", "fileName"),
        ("", "audio/mpeg", "fileName"),
        ("x" * 256, "audio/mpeg", "fileName"),
        ("a\x00", "audio/mpeg", "fileName"),
        ("a.html", "text/html", "contentType"),
    ],
)
@locally
async def test_an_upload_is_named_and_typed_as_audio(
    library: AudioLibrary, name: str, kind: str, field: str
) -> None:
    with pytest.raises(Invalid) as refused:
        await library.registering.upload(name, kind)
    assert [problem.path for problem in refused.value.problems] == [[field]]


async def test_an_upload_is_bound_to_its_key_its_type_and_its_size(library: AudioLibrary) -> None:
    upload = await library.registering.upload("Bjørk.mp3", "audio/mpeg")
    fields = dict(upload.form.fields)
    assert upload.object_key.startswith("audio/ann/uploads/")
    assert upload.object_key.endswith("/Bjørk.mp3")
    assert (fields["key"], fields["Content-Type"]) == (upload.object_key, "audio/mpeg")
    assert MAX_UPLOAD == 1024**3


@pytest.mark.parametrize(
    ("minutes", "seconds"), [(3, 900), (5, 900), (10, 1500), (60, 7500), (7 * 24 * 60, 604_800)]
)
def test_a_url_holds_twice_as_long_as_the_track_and_some_more(minutes: int, seconds: int) -> None:
    assert url_lifetime(minutes * 60_000) == seconds


async def test_a_stream_is_signed_with_its_type_and_time(
    library: AudioLibrary, files: Files
) -> None:
    track = await upload_and_register(library, "Bjørk.flac", sound("flac", 1, TAGS, COVER))
    for attachment, file_name in ((False, None), (True, "Bjørk.flac")):
        before = datetime.now(UTC)
        download = await library.streaming.sign_stream(track, attachment=attachment)
        signed = download.expires_at - timedelta(minutes=15)
        assert before - timedelta(seconds=1) < signed < datetime.now(UTC) + timedelta(seconds=1)
        if isinstance(files, LocalFiles):
            link = files.signer.check("GET", urlsplit(download.url).path[len("/files/") :].encode())
            assert link is not None
            assert (link.key, link.content_type, link.filename) == (
                track.object_key,
                "audio/flac",
                file_name,
            )
        else:
            asked = parse_qs(urlsplit(download.url).query)
            assert asked["X-Amz-SignedHeaders"] == ["host"]
            assert asked["X-Amz-Expires"] == ["900"]
            assert asked["response-content-type"] == ["audio/flac"]
            shown = asked.get("response-content-disposition", [""])[0]
            assert shown.endswith("filename*=UTF-8''Bj%C3%B8rk.flac" if attachment else "")
            assert bool(shown) == attachment
    cover = await library.cover_sizes.sign(str(track.artwork))
    assert str(track.artwork) in cover.url or isinstance(files, LocalFiles)


async def test_nothing_is_signed_that_does_not_lie_among_the_callers_objects(
    library: AudioLibrary, files: Files
) -> None:
    """Even if a row names such an object: the server may read all of its bucket."""
    track = await upload_and_register(library, "1.mp3", sound("mp3", 1, TAGS))
    for foreign in (
        replace(track, object_key="audio/bob/uploads/1/x.mp3"),
        replace(track, object_key="pipelines/1/1/executions/1/output.txt"),
        replace(track, object_key="audio/ann/../bob/x.mp3"),
        replace(track, owner="bob"),
    ):
        with pytest.raises(NotFound):
            await library.streaming.sign_stream(foreign)
    stranger = listener(Store(library.reading.access.table, files=files), Caller("eve", {}))
    with pytest.raises(NotFound):
        await stranger.streaming.sign_stream(track)


async def test_an_upload_is_deleted_with_its_track_and_nothing_else_is(
    library: AudioLibrary, files: Files
) -> None:
    track = await upload_and_register(library, "1.mp3", sound("mp3", 1, TAGS, COVER))
    other = await upload_and_register(library, "2.mp3", sound("mp3", 1, TAGS, COVER))
    with pytest.raises(VersionConflict):
        await library.removing.delete(track.id, 7)
    assert await files.stat(track.object_key) is not None
    assert await library.removing.delete(track.id, 1) == track
    assert await files.stat(track.object_key) is None
    assert await files.stat(other.object_key) is not None
    assert await files.stat(artwork_key("ann", str(other.artwork))) is not None
    assert await drift(library.reading.access.table) == []


@locally
async def test_a_track_goes_also_where_its_object_cannot_be_reached(library: AudioLibrary) -> None:
    track = await upload_and_register(library, "1.mp3", sound("mp3", 1, TAGS))
    without = listener(Store(library.reading.access.table))
    assert without.registering.sources.files is NO_FILES
    await without.removing.delete(track.id)
    assert await library_rows(library.reading.access.table) == {}


async def test_an_upload_of_another_user_is_as_unknown_once_registered(
    library: AudioLibrary, files: Files
) -> None:
    key = await put(library, "1.mp3", sound("mp3", 1, TAGS))
    await library.registering.register(key)
    table = library.reading.access.table
    theirs = listener(Store(table, files=files), BOB)
    before = await library_rows(table)
    for unknown in (key, key.replace("1.mp3", "2.mp3")):
        with pytest.raises(NotFound) as refused:
            await theirs.registering.register(unknown)
        assert not hasattr(refused.value, "existing")
    assert await library_rows(table) == before
