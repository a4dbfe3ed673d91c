"""Covers are made smaller once and within bounds, uploaded for tracks and albums, and swept."""

import struct
import warnings
import zlib
from dataclasses import replace
from datetime import timedelta
from io import BytesIO
from typing import Any

import pytest
from PIL import Image

from penstock.datastore.access.work import LISTED_UNITS
from penstock.datastore.audio import names
from penstock.datastore.audio.artwork import cover_sizes, set_covers, smaller_pictures
from penstock.datastore.audio.artwork.cover_sizes import KEPT, RENEWED, SizedCover
from penstock.datastore.audio.artwork.folder_covers import FolderCovers
from penstock.datastore.audio.artwork.remove_covers import CoverRemover
from penstock.datastore.audio.artwork.set_covers import MAX_TRACKS
from penstock.datastore.audio.artwork.smaller_pictures import MAX_PASSES, choose_size, make_smaller
from penstock.datastore.audio.object_keys import artwork_key
from penstock.datastore.audio.records import Album, Audio
from penstock.datastore.audio.upkeep.covers import CoverStore
from penstock.datastore.clock import Clock
from penstock.datastore.errors import BadArgument, Invalid, LimitExceeded, NotFound
from penstock.datastore.listening.library_sweep import REST
from penstock.datastore.objects.port import Files
from penstock.datastore.session import Session
from penstock.datastore.store import Store
from penstock.datastore.table.layout import ALBUM
from penstock.datastore.table.port import Item, Table, Update
from tests.datastore.audio.sample_library import ANN, BOB, add, drift
from tests.datastore.audio.sample_transcoder import key_behind
from tests.datastore.audio.sample_uploads import content_of, single_chunk
from tests.support.consistency_check import contents
from tests.support.sample_resources import Watch, on_sqlite
from tests.support.work_account import Account


def picture(width: int, height: int, kind: str = "PNG", mode: str = "RGB") -> bytes:
    made = BytesIO()
    Image.new(mode, (width, height)).save(made, kind)
    return made.getvalue()


def bomb(width: int, height: int) -> bytes:
    """A PNG of few bytes that says it has so many pixels."""
    content = picture(1, 1)
    header = struct.pack(">II", width, height) + content[24:29]
    checked = struct.pack(">I", zlib.crc32(b"IHDR" + header))
    return content[:16] + header + checked + content[33:]


def segment(marker: int, content: bytes) -> bytes:
    return struct.pack(">BBH", 0xFF, marker, len(content) + 2) + content


def jpeg_of_passes(count: int) -> bytes:
    """A progressive JPEG of one colour, whose passes have no data and visit all pixels."""
    one_code = bytes((1, *[0] * 15))
    parts = [
        segment(0xDB, bytes((0, *[1] * 64))),
        segment(0xC2, struct.pack(">BHHBBBB", 8, 600, 600, 1, 1, 0x11, 0)),
        segment(0xC4, b"\x00" + one_code + b"\x00"),
        segment(0xC4, b"\x10" + one_code + b"\xe0"),
        segment(0xDA, bytes((1, 1, 0, 0, 0, 0))),
        segment(0xDA, bytes((1, 1, 0, 1, 63, 0))) * (count - 1),
    ]
    return b"\xff\xd8" + b"".join(parts) + b"\xff\xd9"


async def keep(session: Session, content: bytes) -> str:
    """Store a cover as adding a track does; return its name."""
    kept = await CoverStore(session.audio.covers.access).keep(content)
    assert kept is not None
    return kept


async def show(session: Session, artwork: str, size: int | None) -> tuple[str, bytes]:
    """The key and the content of the picture that is shown for a cover."""
    files = session.audio.cover_sizes.access.files
    key = key_behind(files, (await session.audio.cover_sizes.sign(artwork, size)).url)
    return key, await content_of(files, key)


@pytest.mark.parametrize(
    ("wanted", "size"), [(1, 64), (64, 64), (65, 128), (300, 512), (1024, 1024), (1025, None)]
)
def test_the_next_size_is_made(wanted: int, size: int | None) -> None:
    assert choose_size(wanted) == size


def test_no_size_is_refused() -> None:
    for wanted in (0, -1):
        with pytest.raises(BadArgument):
            choose_size(wanted)


@pytest.mark.parametrize(
    ("content", "made"),
    [
        (picture(600, 300), (128, 64, "JPEG")),
        (picture(300, 600, "JPEG"), (64, 128, "JPEG")),
        (picture(600, 600, "JPEG", "CMYK"), (128, 128, "JPEG")),
        (picture(600, 600, "PNG", "RGBA"), (128, 128, "PNG")),
        (picture(600, 600, "GIF", "P"), (128, 128, "PNG")),
        (picture(600, 600, "WEBP"), (128, 128, "JPEG")),
        (picture(128, 100), None),
        (picture(600, 600, "TIFF"), None),
        (picture(600, 600, "JPEG")[:300], None),
        (picture(600, 600)[:100], None),
        (bomb(100_000, 100_000), None),
        (bomb(5_001, 5_000), None),
        (jpeg_of_passes(MAX_PASSES), (128, 128, "JPEG")),
        (jpeg_of_passes(MAX_PASSES + 1), None),
        (b"", None),
    ],
    ids=range(15),
)
async def test_pictures_are_made_smaller_within_bounds(
    content: bytes, made: tuple[int, int, str] | None
) -> None:
    found, _ = await make_smaller(content, 128, "ann")
    if found is None:
        assert made is None
        return
    smaller = Image.open(BytesIO(found.content))
    assert (*smaller.size, smaller.format) == made
    assert found.media_type == f"image/{str(smaller.format).lower()}"


def with_text(content: bytes, name: str, text: bytes, *, behind: bool) -> bytes:
    """A PNG with a text of a name, before its pixels or behind them."""
    chunk = b"tEXt" + name.encode() + b"\0" + text
    framed = struct.pack(">I", len(chunk) - 4) + chunk + struct.pack(">I", zlib.crc32(chunk))
    place = content.index(b"IEND" if behind else b"IDAT") - 4
    return content[:place] + framed + content[place:]


def with_comment(mode: str, comment: bytes) -> bytes:
    made = BytesIO()
    Image.new(mode, (600, 600)).save(made, "GIF", comment=comment)
    return made.getvalue()


@pytest.mark.parametrize("mode", ["1", "L", "LA", "P", "I;16", "RGB", "RGBA"])
async def test_texts_that_have_the_names_of_what_pillow_knows_mean_nothing(mode: str) -> None:
    plain = picture(600, 600, mode=mode)
    expected, _ = await make_smaller(plain, 128, "ann")
    assert expected is not None
    for name in ("transparency", "icc_profile", "comment", "exif", "gamma", "dpi"):
        for text in (b"", b"7", b"x" * 70_000):
            for behind in (False, True):
                content = with_text(plain, name, text, behind=behind)
                assert (await make_smaller(content, 128, "ann"))[0] == expected


async def test_a_smaller_picture_has_no_comment_and_no_profile() -> None:
    expected, _ = await make_smaller(with_comment("L", b""), 128, "ann")
    assert expected is not None
    assert (await make_smaller(with_comment("L", b"c" * 70_000), 128, "ann"))[0] == expected
    made, plain = BytesIO(), Image.new("RGBA", (600, 600))
    plain.save(made, "PNG", icc_profile=b"p" * 70_000)
    smaller, _ = await make_smaller(made.getvalue(), 128, "ann")
    assert smaller is not None
    assert "icc_profile" not in Image.open(BytesIO(smaller.content)).info


@pytest.mark.parametrize("error", [TypeError, IndexError, RuntimeError, EOFError, KeyError])
async def test_whatever_pillow_raises_means_that_a_picture_cannot_be_read(
    monkeypatch: pytest.MonkeyPatch, error: type[Exception]
) -> None:
    def fail(*_: object) -> None:
        raise error

    monkeypatch.setattr(Image.Image, "convert", fail)
    assert (await make_smaller(picture(600, 600), 128, "ann"))[0] is None


async def test_a_picture_that_takes_long_to_read_is_given_up(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(smaller_pictures, "CPU_SECONDS", 0)
    assert (await make_smaller(picture(600, 600), 128, "ann"))[0] is None


async def test_no_warning_about_a_picture_reaches_the_log() -> None:
    tags = b"".join(struct.pack(">HHII", tag, 3, 65_535, 8) for tag in range(3))
    exif = b"Exif\0\0MM\0*\0\0\0\x08" + struct.pack(">H", 3) + tags
    content = picture(600, 600, "JPEG")
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        found, _ = await make_smaller(content[:2] + segment(0xE1, exif) + content[2:], 128, "ann")
    assert (found is not None, seen) == (True, [])


async def test_a_size_is_made_once_paid_and_swept_weeks_after_its_last_use(
    store: Store, watch: Watch, monkeypatch: pytest.MonkeyPatch
) -> None:
    made, account = list[int](), Account()

    async def count(content: bytes, size: int, user: str) -> object:
        made.append(size)
        smaller, _ = await make_smaller(content, size, user)
        return smaller, 1.0

    monkeypatch.setattr(cover_sizes, "make_smaller", count)
    session = store.open_session(ANN, account)
    artwork = await keep(session, picture(600, 600))
    key, content = await show(session, artwork, 100)
    assert Image.open(BytesIO(content)).size == (128, 128)
    assert account.owed > 0
    assert await show(session, artwork, 128) == (key, content)
    watch.move(RENEWED + timedelta(minutes=1))
    assert await show(session, artwork, 100) == (key, content)
    watch.move(KEPT - timedelta(minutes=1))
    await store.sweep_files()
    assert await store.files.stat(key) is not None
    assert made == [128]
    watch.move(timedelta(minutes=2))
    await store.sweep_files()
    assert await store.files.stat(key) is None


@on_sqlite
async def test_what_cannot_be_made_smaller_is_shown_as_it_is_and_not_tried_again(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    session = store.open_session(ANN)
    small, broken = picture(64, 64), bomb(100_000, 100_000)
    for content in (small, broken):
        artwork = await keep(session, content)
        assert await show(session, artwork, 128) == (artwork_key("ann", artwork), content)
        monkeypatch.setattr(cover_sizes, "make_smaller", None)
        assert await show(session, artwork, 128) == (artwork_key("ann", artwork), content)
        monkeypatch.undo()
    large = await keep(session, picture(600, 600))
    assert (await show(session, large, 2_000))[0] == artwork_key("ann", large)
    monkeypatch.setattr(smaller_pictures, "find_spec", lambda _: None)
    assert (await show(session, large, 64))[0] == artwork_key("ann", large)


@on_sqlite
async def test_many_covers_are_signed_by_one_read(store: Store) -> None:
    session = store.open_session(ANN)
    covers = [await keep(session, picture(600, 600 + n)) for n in range(3)]
    wanted = [SizedCover(cover, size) for cover in covers for size in (64, None)]
    first = await session.audio.cover_sizes.sign_many(wanted)
    again = store.open_session(ANN)
    second = await again.audio.cover_sizes.sign_many(wanted)
    assert again.units.calls == 1
    assert [key_behind(store.files, each.url) for each in second] == [
        key_behind(store.files, each.url) for each in first
    ]


async def upload(session: Session, content: bytes, name: str = "front.png") -> str:
    key = (await session.audio.covers.uploads.form(name)).object_key
    files = session.audio.cover_sizes.access.files
    await files.write(key, single_chunk(content), content_type="image/png")
    return key


async def test_an_uploaded_picture_becomes_the_cover_of_an_album_and_the_old_one_goes(
    table: Table, files: Files, watch: Watch
) -> None:
    store = Store(table, files=files)
    session = store.open_session(ANN)
    old = await keep(session, picture(10, 10))
    tracks = [
        await add(session.audio, f"{n}", f"t{n}", "Ada", album="Barn", artwork=old)
        for n in range(3)
    ]
    other = await add(session.audio, "x", "x", "Ada", album="Den", artwork=None)
    place = names.album_place(tracks[0])
    key = await upload(session, picture(20, 20))
    album = await session.audio.covers.set_for_album(place, key)
    assert album.artwork not in (None, old)
    found = await session.audio.reading.many([track.id for track in (*tracks, other)])
    assert [one.artwork for one in found if isinstance(one, Audio)] == [album.artwork] * 3 + [None]
    assert await content_of(store.files, artwork_key("ann", str(album.artwork))) == picture(20, 20)
    single = await session.audio.covers.set_for_audio(other.id, key)
    assert single.artwork == album.artwork
    assert (await session.audio.covers.set_for_album(place, key)).artwork == album.artwork
    assert await drift(store.table) == []
    watch.time = store.clock.now() + REST + timedelta(days=2)
    await replace(store, clock=Clock(watch)).sweep_files()
    assert await store.files.stat(artwork_key("ann", old)) is None
    assert await store.files.stat(artwork_key("ann", str(album.artwork))) is not None
    assert await store.files.stat(key) is None


@on_sqlite
async def test_what_is_no_uploaded_picture_becomes_no_cover(store: Store) -> None:
    session, bob = store.open_session(ANN), store.open_session(BOB)
    track = await add(session.audio, "1", "t", "Ada", album="Barn")
    place, covers = names.album_place(track), session.audio.covers
    good, theirs = await upload(session, picture(9, 9)), await upload(bob, picture(9, 9))
    text = await upload(session, b"<svg/>", "x.svg")
    await store.table.transact(
        [Update(key=ALBUM.key(user="ann", name="big", album="b" * 32), set=BIG)]
    )
    before = await contents(store.table)
    for key in (theirs, text, good + "x", "audio/ann/artwork/x", "../x", ""):
        for call in (covers.set_for_album(place, key), covers.set_for_audio(track.id, key)):
            with pytest.raises(Invalid) as caught:
                await call
            assert caught.value.path == ["objectKey"]
    for call in (
        covers.set_for_album("none:x", good),
        bob.audio.covers.set_for_album(place, theirs),
        bob.audio.covers.set_for_audio(track.id, theirs),
    ):
        with pytest.raises(NotFound):
            await call
    with pytest.raises(LimitExceeded):
        await covers.set_for_album(f"big:{'b' * 32}", good)
    with pytest.raises(Invalid):
        await covers.uploads.form("../x")
    assert await contents(store.table) == before


@on_sqlite
async def test_an_upload_that_is_larger_than_a_cover_may_be_becomes_none(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    session, content = store.open_session(ANN), picture(9, 9)
    track = await add(session.audio, "1", "t", "Ada", album="Barn")
    key = await upload(session, content)
    before = await contents(store.table)
    monkeypatch.setattr(set_covers, "MAX_PICTURE", len(content) - 1)
    with pytest.raises(Invalid, match="leads to no uploaded picture"):
        await session.audio.covers.set_for_audio(track.id, key)
    assert await contents(store.table) == before
    monkeypatch.setattr(set_covers, "MAX_PICTURE", len(content))
    assert (await session.audio.covers.set_for_audio(track.id, key)).artwork is not None


async def test_a_cover_is_removed_and_the_album_shows_that_of_another_track(
    table: Table, files: Files, watch: Watch
) -> None:
    store = Store(table, files=files)
    session = store.open_session(ANN)
    front, back = [await keep(session, picture(size, size)) for size in (10, 20)]
    first, second, third = [
        await add(session.audio, f"{n}", f"t{n}", "Ada", album="Barn", artwork=cover)
        for n, cover in enumerate((front, back, front))
    ]
    place, removing = names.album_place(first), session.audio.removing_covers

    async def read_cover() -> str | None:
        (album,) = await session.audio.reading.albums([place])
        assert isinstance(album, Album)
        return album.artwork

    assert await read_cover() == front
    assert (await removing.remove_from_audio(first.id)).artwork is None
    assert await read_cover() == front
    assert (await removing.remove_from_audio(third.id)).artwork is None
    assert await read_cover() == back
    assert (await removing.remove_from_audio(third.id)).version == third.version + 1
    await session.audio.covers.set_for_audio(third.id, await upload(session, picture(9, 9)))
    assert (await removing.remove_from_album(place)).artwork is None
    found = await session.audio.reading.many([first.id, second.id, third.id])
    assert [one.artwork for one in found if isinstance(one, Audio)] == [None] * 3
    assert await drift(store.table) == []
    watch.time = store.clock.now() + REST + timedelta(days=2)
    await replace(store, clock=Clock(watch)).sweep_files()
    for cover in (front, back):
        assert await store.files.stat(artwork_key("ann", cover)) is None


@on_sqlite
async def test_an_album_keeps_a_cover_that_a_track_gets_while_it_is_removed(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    session = store.open_session(ANN)
    cover = await keep(session, picture(10, 10))
    track = await add(session.audio, "1", "t1", "Ada", album="Barn", artwork=cover)
    find, late = CoverRemover._find_cover, list[Audio]()

    async def find_late(remover: CoverRemover, album: Album) -> str | None:
        found = await find(remover, album)
        if not late:
            late.append(await add(session.audio, "2", "t2", "Ada", album="Barn", artwork=cover))
        return found

    monkeypatch.setattr(CoverRemover, "_find_cover", find_late)
    await session.audio.removing_covers.remove_from_audio(track.id)
    (album,) = await session.audio.reading.albums([names.album_place(track)])
    assert isinstance(album, Album)
    assert (album.count, album.artwork) == (2, cover)


@on_sqlite
async def test_no_cover_of_another_user_is_removed(store: Store) -> None:
    session, bob = store.open_session(ANN), store.open_session(BOB)
    cover = await keep(session, picture(10, 10))
    track = await add(session.audio, "1", "t1", "Ada", album="Barn", artwork=cover)
    await store.table.transact(
        [Update(key=ALBUM.key(user="ann", name="big", album="b" * 32), set=BIG)]
    )
    before = await contents(store.table)
    for call in (
        bob.audio.removing_covers.remove_from_audio(track.id),
        bob.audio.removing_covers.remove_from_album(names.album_place(track)),
        session.audio.removing_covers.remove_from_album("none:x"),
    ):
        with pytest.raises(NotFound):
            await call
    with pytest.raises(LimitExceeded):
        await session.audio.removing_covers.remove_from_album(f"big:{'b' * 32}")
    assert await contents(store.table) == before


@on_sqlite
async def test_the_list_of_a_folder_is_paid_once_for_its_tracks(store: Store) -> None:
    account, files, prefix = Account(), store.files, "theirs/a/"
    await files.write(f"{prefix}cover.png", single_chunk(picture(10, 10)), content_type="image/png")
    source: Any = store.files
    covers = FolderCovers(store.open_session(ANN, account).audio.registering.access)
    found = await covers.find(source, f"{prefix}1.mp3")
    assert found is not None
    of_list_and_cover = account.owed
    assert of_list_and_cover >= LISTED_UNITS
    assert await covers.find(source, f"{prefix}2.mp3") == found
    assert account.owed == of_list_and_cover
    assert await covers.find(source, "theirs/b/1.mp3") is None
    assert account.owed == of_list_and_cover + LISTED_UNITS


BIG: Item = {"name": "Big", "albumArtist": "A", "count": MAX_TRACKS + 1, "durationMs": 1}
