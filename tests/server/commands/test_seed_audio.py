"""The sample library: every format, added through uploads, any number of times."""

import json
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from penstock.datastore.audio.records import AudioFormat
from penstock.datastore.roles import Caller
from penstock.datastore.store import Store
from penstock.server.command_line import run
from penstock.server.samples.audio import (
    AudioSeedCounts,
    add_samples,
    audio_samples,
    remove_samples,
)
from tests.datastore.audio.sample_library import draft, drift, listener
from tests.datastore.audio.sample_uploads import open_files
from tests.support.sample_resources import walk

ANA = Caller("ana", {})


@pytest.fixture
async def shelves(store: Store, tmp_path: Path) -> AsyncIterator[Store]:
    async with open_files("local", tmp_path) as files:
        yield replace(store, files=files)


async def test_the_sample_library_has_every_format_and_comes_and_goes(shelves: Store) -> None:
    own = await listener(shelves, ANA).adding.add(*draft("x", "own", user="ana"))
    assert await add_samples(shelves, "ana") == AudioSeedCounts(created=8)
    audio = listener(shelves, ANA)
    tracks = [track for track in await walk(audio.lists.audios, 100) if track != own]
    assert {track.format for track in tracks} == {*AudioFormat} - {
        AudioFormat.OGG,
        AudioFormat.AIFF,
    }
    assert all(track.artwork and 11_900 < track.duration_ms < 12_200 for track in tracks)
    albums = await walk(audio.lists.get_album_by_user_id)
    assert [(album.name, album.album_artist, album.count) for album in albums][1:] == [
        ("Test Tones", "Various Artists", 5),
        ("Åpen by", "The Sine Waves", 3),
    ]
    counts = {
        artist.name: artist.count for artist in await walk(audio.lists.get_artists_by_user_id)
    }
    assert counts["Tone Poets"] == 3
    assert await drift(shelves.table) == []
    assert await add_samples(shelves, "ana") == AudioSeedCounts(found=8)
    assert await remove_samples(shelves, "ana") == 8
    assert [track.title for track in await walk(audio.lists.audios)] == ["own"]
    assert await shelves.files.list("audio/ana/uploads/") == ()


def test_every_sample_has_another_content() -> None:
    assert len({sample.content for sample in audio_samples()}) == 8


def answer(capsys: pytest.CaptureFixture[str], *words: str) -> Any:
    assert run(["seed", *words, "--json"]) == 0
    return json.loads(capsys.readouterr().out)


def test_the_library_is_seeded_by_command(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ("--size", "1", "--audio", "ana", "--data-dir", str(tmp_path))
    assert answer(capsys, *words)["tracks"] == {"created": 8, "found": 0}
    assert answer(capsys, *words)["tracks"] == {"created": 0, "found": 8}
    assert answer(capsys, "--purge", *words)["tracksDeleted"] == 8
