"""Tracks are converted by a real FFmpeg, once, in bounds; copies are kept for days and swept."""

import asyncio
import os
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import nullcontext
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest
from imageio_ffmpeg import get_ffmpeg_exe
from msgspec import structs

from penstock.datastore.access.bucket_payments import FILE_PRICES
from penstock.datastore.access.work import StoreKind, conversion_units, cpu_units, write_units
from penstock.datastore.audio.records import Audio, AudioFormat
from penstock.datastore.audio.tags.tag_reader import TagScan
from penstock.datastore.audio.transcoding import converted_streams, ffmpeg
from penstock.datastore.audio.transcoding.converted_streams import KEPT, RENEWED, ConvertedStreams
from penstock.datastore.audio.transcoding.ffmpeg import FFmpeg, Transcoder
from penstock.datastore.audio.transcoding.formats import (
    BIT_RATES,
    Conversion,
    StreamFormat,
    choose_conversion,
)
from penstock.datastore.errors import BadArgument, IllegalState, RateLimited
from penstock.datastore.store import Store
from tests.datastore.audio.sample_library import ANN
from tests.datastore.audio.sample_transcoder import CountedTranscoder, key_behind
from tests.datastore.audio.sample_uploads import (
    COVER,
    FORMATS,
    TAGS,
    content_of,
    single_chunk,
    sound,
    upload_and_register,
)
from tests.support.consistency_check import contents
from tests.support.patience import until
from tests.support.sample_resources import Watch, on_sqlite
from tests.support.work_account import Account

OPUS = Conversion(StreamFormat.OPUS, 32)

PRICES = FILE_PRICES[StoreKind.EMBEDDED]


TRACK = Audio(
    id="01a1fd33-4531-77f0-8555-cdb912a93fef",
    owner="ann",
    title="t",
    bucket="b",
    object_key="k",
    file_name="f",
    duration_ms=1_000,
    format=AudioFormat.MP3,
    size=1,
    etag="e",
    version=1,
    created_at="2022-08-10T23:55:20.322Z",
    updated_at="2022-08-10T23:55:20.322Z",
)
CONTENT_HEAD = b"fLaC"


def streams(store: Store, transcoder: Transcoder) -> ConvertedStreams:
    return replace(store, transcoder=transcoder).open_session(ANN).audio.converting


async def track_of(store: Store, format: str = "flac", seconds: float = 1) -> Audio:
    content = sound(format, seconds, TAGS, COVER)
    return await upload_and_register(store.open_session(ANN).audio, f"song.{format}", content)


MP3_128 = {"format": AudioFormat.MP3, "bitrate": 128}
FLAC = {"format": AudioFormat.FLAC, "bitrate": 900}


@pytest.mark.parametrize(
    ("file", "format", "bit_rate", "wanted"),
    [
        (MP3_128, None, None, None),
        (MP3_128, StreamFormat.MP3, None, None),
        (MP3_128, StreamFormat.MP3, 128, None),
        (MP3_128, None, 127, (StreamFormat.MP3, 96)),
        (MP3_128, StreamFormat.OPUS, None, (StreamFormat.OPUS, 128)),
        (FLAC, None, None, None),
        (FLAC, None, 1000, None),
        (FLAC, None, 320, (StreamFormat.MP3, 320)),
        (FLAC, None, 319, (StreamFormat.MP3, 256)),
        (FLAC, StreamFormat.AAC, None, (StreamFormat.AAC, 192)),
        (FLAC, StreamFormat.MP3, 1000, (StreamFormat.MP3, 320)),
        (FLAC, StreamFormat.OPUS, 32, (StreamFormat.OPUS, 32)),
        ({"format": AudioFormat.M4A, "bitrate": 256}, StreamFormat.AAC, None, None),
        # ALAC, which is lossless
        ({"format": AudioFormat.M4A, "bitrate": 800}, StreamFormat.AAC, None, ("aac", 192)),
        ({"format": AudioFormat.WAV, "bitrate": None}, StreamFormat.MP3, None, ("mp3", 192)),
        ({"format": AudioFormat.OPUS, "bitrate": 20}, StreamFormat.MP3, None, ("mp3", 32)),
    ],
)
def test_a_conversion_changes_only_what_must_change(
    file: dict[str, object],
    format: StreamFormat | None,
    bit_rate: int | None,
    wanted: tuple[str, int] | None,
) -> None:
    assert choose_conversion(structs.replace(TRACK, **file), format, bit_rate) == wanted


def test_a_bit_rate_below_all_is_refused() -> None:
    with pytest.raises(BadArgument):
        choose_conversion(structs.replace(TRACK, **FLAC), None, 31)


@on_sqlite
@pytest.mark.parametrize("target", StreamFormat)
@pytest.mark.parametrize("format", FORMATS)
async def test_each_format_is_converted_to_each(
    store: Store, format: str, target: StreamFormat
) -> None:
    track = await track_of(store, format)
    real = streams(store, FFmpeg(get_ffmpeg_exe(), 1))
    key = key_behind(store.files, (await real.sign(track, Conversion(target, 64))).url)
    size = len(await content_of(store.files, key))
    made = await TagScan(store.files, key, size, {}).run("none")
    assert made.format == {"mp3": "mp3", "opus": "opus", "aac": "m4a"}[target]
    assert abs(made.parsed.duration_ms - track.duration_ms) < 200
    # The copy has neither tags nor the cover, which would be in each of them.
    assert (made.parsed.tags.title, made.parsed.picture) == ("none", None)


def write_silence(folder: Path, layout: str) -> Path:
    path = folder / "source.flac"
    sound = ("-f", "lavfi", "-i", f"anullsrc=channel_layout={layout}:duration=0.1")
    subprocess.run([get_ffmpeg_exe(), *sound, path], check=True, capture_output=True)
    return path


@pytest.mark.parametrize("target", StreamFormat)
@pytest.mark.parametrize("layout", ["mono", "5.1(side)", "7.1"])
async def test_any_number_of_channels_is_converted_at_every_bit_rate(
    tmp_path: Path, layout: str, target: StreamFormat
) -> None:
    source, made = write_silence(tmp_path, layout), tmp_path / "made"
    real = FFmpeg(get_ffmpeg_exe(), 1)
    for bit_rate in (BIT_RATES[0], BIT_RATES[-1]):
        ended = await real.convert(source, AudioFormat.FLAC, made, Conversion(target, bit_rate))
        assert ended.succeeded
        assert made.stat().st_size > 0
        made.unlink()


async def test_a_copy_is_made_once_and_swept_some_days_after_its_last_use(
    store: Store, watch: Watch
) -> None:
    track, counted = await track_of(store), CountedTranscoder()
    converting, files = streams(store, counted), store.files
    first = key_behind(files, (await converting.sign(track, OPUS)).url)
    assert (await content_of(files, first)) == b"opus at 32 of fLaC"
    watch.move(RENEWED + timedelta(minutes=1))
    assert key_behind(files, (await converting.sign(track, OPUS)).url) == first
    watch.move(KEPT - timedelta(minutes=1))
    await store.sweep_files()
    assert await files.stat(first) is not None
    assert counted.made == 1
    watch.move(timedelta(minutes=2))
    await store.sweep_files()
    assert await files.stat(first) is None
    second = key_behind(files, (await converting.sign(track, OPUS)).url)
    assert (counted.made, second != first) == (2, True)
    assert await files.stat(second) is not None
    assert await files.stat(track.object_key) is not None


@on_sqlite
async def test_a_copy_is_not_played_once_its_connection_is_gone(store: Store) -> None:
    track, counted = await track_of(store), CountedTranscoder()
    converting = streams(store, counted)
    await converting.sign(track, OPUS)
    gone = structs.replace(track, connection_id="01a1fd33-4531-77f0-8555-cdb912a93fef")
    before = await contents(store.table)
    for conversion in (None, OPUS):
        with pytest.raises(IllegalState, match="connection that this audio was registered by is"):
            await converting.sign(gone, conversion)
    assert (counted.made, await contents(store.table)) == (1, before)


async def test_calls_that_meet_wait_for_one_conversion(store: Store) -> None:
    track, counted = await track_of(store), CountedTranscoder()
    counted.may_end.clear()
    converting = streams(store, counted)
    cut_off = asyncio.create_task(converting.sign(track, OPUS))
    await until(lambda: counted.made == 1)
    cut_off.cancel()
    waiting = [asyncio.create_task(converting.sign(track, OPUS)) for _ in range(2)]
    counted.may_end.set()
    keys = {key_behind(store.files, each.url) for each in await asyncio.gather(*waiting)}
    assert (len(keys), counted.made) == (1, 1)


@on_sqlite
async def test_a_file_that_cannot_be_converted_leaves_nothing(store: Store) -> None:
    track = await track_of(store)
    content = CONTENT_HEAD + bytes(200)
    await store.files.write(track.object_key, single_chunk(content), content_type="audio/flac")
    before = await contents(store.table)
    with pytest.raises(IllegalState) as caught:
        await streams(store, FFmpeg(get_ffmpeg_exe(), 1)).sign(track, OPUS)
    assert caught.value.state == "UNCONVERTIBLE"
    assert await contents(store.table) == before


@on_sqlite
async def test_a_file_that_does_not_come_keeps_nobody_from_converting(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def send_nothing(*_args: object, **_range: object) -> AsyncIterator[bytes]:
        await asyncio.Event().wait()
        yield b""

    track, program = await track_of(store), FFmpeg("none", 1)
    monkeypatch.setattr(converted_streams, "FETCH_SECONDS", 0.01)
    monkeypatch.setattr(type(store.files), "read", send_nothing)
    with pytest.raises(IllegalState) as caught:
        await streams(store, program).sign(track, OPUS)
    assert caught.value.state == "UNCONVERTIBLE"
    async with program.turn("bob"):
        pass


@on_sqlite
@pytest.mark.parametrize("succeeded", [True, False])
async def test_the_time_of_a_conversion_is_paid_however_it_ends(
    store: Store, succeeded: bool
) -> None:
    track, account = await track_of(store), Account()
    timed = replace(store, transcoder=CountedTranscoder(succeeded=succeeded, seconds=2.0))
    session = timed.open_session(ANN, account)
    with nullcontext() if succeeded else pytest.raises(IllegalState):
        await session.audio.converting.sign(track, OPUS)
    assert account.taken == conversion_units(track.duration_ms) + PRICES.look == 127
    stored = PRICES.write if succeeded else 0
    assert account.owed == cpu_units(2.0) - 125 + write_units(session.units.written) + stored


@on_sqlite
async def test_a_caller_in_debt_lets_no_conversion_wait(store: Store) -> None:
    track, counted = await track_of(store), CountedTranscoder()
    counted.may_end.clear()
    account = Account(most=conversion_units(track.duration_ms) + PRICES.look)
    converting = replace(store, transcoder=counted).open_session(ANN, account).audio.converting
    first = asyncio.create_task(converting.sign(track, OPUS))
    await until(lambda: counted.made == 1)
    before = await contents(store.table)
    for bit_rate in (48, 64, 96):
        with pytest.raises(RateLimited):
            await converting.sign(track, Conversion(StreamFormat.OPUS, bit_rate))
    assert (counted.made, account.taken, account.owed) == (1, 127, 0)
    assert await contents(store.table) == before
    counted.may_end.set()
    made = await first
    # What is made already costs nothing more.
    again = await converting.sign(track, OPUS)
    assert key_behind(store.files, again.url) == key_behind(store.files, made.url)


def write_endless_program(folder: Path, pid_file: Path) -> Path:
    """Write a program that writes its id to a file, and goes on until it is ended."""
    program = folder / "endless"
    program.write_text(
        f"#!/bin/sh\necho $$ > {pid_file}.new; mv {pid_file}.new {pid_file}\nwhile :; do :; done\n"
    )
    program.chmod(0o700)
    return program


async def test_a_conversion_that_is_cancelled_ends_its_process(tmp_path: Path) -> None:
    pid_file = tmp_path / "pid"
    program = write_endless_program(tmp_path, pid_file)
    converting = FFmpeg(str(program), 1)
    running = asyncio.create_task(converting.convert(tmp_path, AudioFormat.FLAC, tmp_path, OPUS))
    await until(pid_file.exists)
    pid = int(pid_file.read_text())
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    await until(lambda: not is_alive(pid))


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux ends a process with its parent")
async def test_a_conversion_ends_with_the_server_also_if_that_is_killed(tmp_path: Path) -> None:
    pid_file = tmp_path / "pid"
    program = write_endless_program(tmp_path, pid_file)
    arguments = (str(program), "-x")
    code = (
        "from penstock.datastore.audio.transcoding.ffmpeg import _LimitedProcess\n"
        f"_LimitedProcess({arguments!r}).run()"
    )
    server = await asyncio.create_subprocess_exec(sys.executable, "-c", code)
    await until(pid_file.exists)
    pid = int(pid_file.read_text())
    assert is_alive(pid)
    server.kill()
    await server.wait()
    await until(lambda: not is_alive(pid))


def is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
        stat = Path(f"/proc/{pid}/stat")
        # One that has ended stays in the list until its parent asks for its end.
        return not stat.exists() or stat.read_text().rpartition(")")[2].split()[0] != "Z"
    except (ProcessLookupError, FileNotFoundError):
        return False


@on_sqlite
async def test_a_conversion_ends_with_its_time(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    endless = tmp_path / "endless"
    endless.write_text("#!/bin/sh\nwhile :; do :; done\n")
    endless.chmod(0o700)
    monkeypatch.setattr(ffmpeg, "MAX_SECONDS", 0)
    track = await track_of(store)
    with pytest.raises(IllegalState) as caught:
        await streams(store, FFmpeg(str(endless), 1)).sign(track, OPUS)
    assert caught.value.state == "UNCONVERTIBLE"


@on_sqlite
async def test_a_server_without_the_program_says_so(store: Store, tmp_path: Path) -> None:
    track = await track_of(store)
    before = await contents(store.table)
    for converting in (
        store.open_session(ANN).audio.converting,
        streams(store, FFmpeg(str(tmp_path / "none"), 1)),
    ):
        with pytest.raises(IllegalState) as caught:
            await converting.sign(track, OPUS)
        assert caught.value.state == "NO_TRANSCODER"
        # What needs no conversion plays all the same.
        assert key_behind(store.files, (await converting.sign(track, None)).url) == track.object_key
    assert await contents(store.table) == before


async def test_users_take_turns_and_nobody_has_two(tmp_path: Path) -> None:
    program, order = FFmpeg("none", 2), list[str]()

    async def take(user: str) -> None:
        async with program.turn(user):
            order.append(user)
            await leave.wait()

    leave = asyncio.Event()
    tasks = [asyncio.create_task(take(user)) for user in ("ann", "ann", "bob", "eve")]
    await until(lambda: len(order) == 2)
    assert order == ["ann", "bob"]
    leave.set()
    await asyncio.gather(*tasks)
    assert sorted(order) == ["ann", "ann", "bob", "eve"]
