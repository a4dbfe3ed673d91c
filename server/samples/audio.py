"""The sample library: short tones in files of every format, with tags and covers."""

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from typing import Final, NamedTuple

from penstock.datastore.audio.library import AudioLibrary
from penstock.datastore.audio.object_keys import upload_key, uploads_prefix
from penstock.datastore.audio.records import Tags
from penstock.datastore.errors import NotFound, ObjectTaken
from penstock.datastore.objects.chunks import single_chunk
from penstock.datastore.roles import Caller
from penstock.datastore.store import Store
from penstock.datastore.table.pages import walk_pages
from penstock.server.samples.sounds.m4a import m4a
from penstock.server.samples.sounds.opus import opus
from penstock.server.samples.sounds.tags import png
from penstock.server.samples.sounds.wav_flac_mp3 import flac, mp3, tone, wav

SECONDS: Final = 12.0
HERTZ: Final = (220, 247, 262, 294, 330, 349, 392, 440)
FORMS: Final = ("flac", "wav", "flac", "mp3", "opus", "m4a", "opus", "mp3")
_RED: Final = (178, 34, 34)
_BLUE: Final = (25, 60, 120)
_ID_PREFIX: Final = "sample-"


class AudioSample(NamedTuple):
    """One file of the library, and the id of its track."""

    id: str
    name: str
    content: bytes


@dataclass(slots=True)
class AudioSeedCounts:
    """The numbers of tracks that a seeding created and found."""

    created: int = 0
    found: int = 0


def audio_samples() -> Iterator[AudioSample]:
    """Yield the files: an album in lossless formats, and a compilation of lossy ones."""
    for number, tags in enumerate(_tracks(), start=1):
        form = FORMS[number - 1]
        name = f"{tags.track:02} {tags.title}.{form}"
        yield AudioSample(f"{_ID_PREFIX}{number}", name, _sound(form, HERTZ[number - 1], tags))


async def add_samples(store: Store, user: str) -> AudioSeedCounts:
    """Add the missing sample tracks to the user's library."""
    audio, shelved = _library_of(store, user), AudioSeedCounts()
    for sample in audio_samples():
        key = upload_key(user, sample.id, sample.name)
        try:
            await audio.registering.register(key)
        except NotFound:
            await store.files.write(key, single_chunk(sample.content), content_type="audio/basic")
            await audio.registering.register(key)
        except ObjectTaken:
            shelved.found += 1
            continue
        shelved.created += 1
    return shelved


async def remove_samples(store: Store, user: str) -> int:
    """Delete the sample tracks from the user's library, and return their number."""
    audio, deleted = _library_of(store, user), 0
    async for track in walk_pages(audio.lists.audios, 100):
        if track.object_key.startswith(f"{uploads_prefix(user)}{_ID_PREFIX}"):
            with suppress(NotFound):
                await audio.removing.delete(track.id)
                deleted += 1
    return deleted


def _tracks() -> Iterator[Tags]:
    for number, title in enumerate(("Åpen by", "Regn", "Natt"), start=1):
        yield Tags(
            title=title,
            artists=("The Sine Waves",),
            album="Åpen by",
            album_artist="The Sine Waves",
            disc=1,
            track=number,
            track_total=3,
            year=2019,
            genres=("Electronic",),
        )
    pairs = (
        ("First Light", ("Tone Poets",)),
        ("夜明け", ("波",)),
        ("Overtones", ("Tone Poets", "The Sine Waves")),
        ("Low Tide", ("La Marea",)),
        ("Encore", ("tone poets",)),
    )
    for number, (title, artists) in enumerate(pairs, start=1):
        yield Tags(
            title=title,
            artists=artists,
            album="Test Tones",
            compilation=True,
            track=number,
            track_total=len(pairs),
            year=2021,
            genres=("Electronic", "Ambient"),
        )


def _sound(form: str, hertz: int, tags: Tags) -> bytes:
    cover = png(*(_BLUE if tags.compilation else _RED))
    match form:
        case "flac":
            return flac(tone(hertz, SECONDS), tags, cover)
        case "wav":
            return wav(tone(hertz, SECONDS), tags, cover)
        case "opus":
            return opus(SECONDS, tags, cover)
        case "m4a":
            return m4a(SECONDS, tags, cover)
        case _:
            return mp3(SECONDS, tags, cover)


def _library_of(store: Store, user: str) -> AudioLibrary:
    return store.open_session(Caller(user, {})).audio
