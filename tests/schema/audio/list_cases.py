"""Every list of audio: its field, path and arguments, the identifying fields, and all nodes.

The library belongs to the caller in the tests of all lists.
"""

from dataclasses import replace
from typing import Any, TypeAlias

import msgspec

from penstock.datastore.audio.imports.report import describe_failure, failure_item
from penstock.datastore.audio.names import album_place, artist_place, object_hash
from penstock.datastore.audio.object_keys import owned_prefix
from penstock.datastore.audio.records import Tags
from penstock.datastore.errors import NotFound
from penstock.datastore.jobs.jobs import Job, JobKind, JobState
from penstock.datastore.jobs.rows import creation_writes
from penstock.datastore.store import Store
from penstock.datastore.table.commit import commit
from penstock.datastore.table.port import Put
from penstock.schema.core.relay import GlobalId
from tests.datastore.audio.sample_library import draft
from tests.schema.audio.sample_tracks import album_tracks, shelve
from tests.support.graphql_client import ROOT

Row: TypeAlias = tuple[str, tuple[str, ...], str, str, list[Any]]

ROLE = "arn:aws:iam::123456789012:role/reader"
TITLES = ["t0", "t1", "t2", "x"]


def by_hash(*names: str) -> list[str]:
    return sorted(names, key=lambda name: object_hash(f"{owned_prefix('root')}{name}.mp3"))


ALL = [{"title": "x"}, *({"title": f"t{n}"} for n in by_hash("0", "1", "2"))]
THE_BAND = GlobalId("Artist", artist_place("The Band")).encode()
A0 = GlobalId("Artist", artist_place("a0")).encode()
BIG_PINK = GlobalId(
    "Album", album_place(Tags(title="t", artists=("The Band",), album="Big Pink"))
).encode()
LINKED = "audio { title }"
LIBRARY = "audioLibrary"
ARTISTS = ["a0", "a1", "a2", "The Band", "Zed"]
NAMED = {"titles": [{"title": title} for title in TITLES[:3]]}
JOB = "01a1fd33-4531-77f0-8555-cdb912a93fef"
AUDIO_LISTS: dict[str, Row] = {
    "audio": ("Query.audios", ("audios",), "", "title", TITLES[::-1]),
    "audio, oldest first": ("Query.audios", ("audios",), "order: OLDEST_FIRST", "title", TITLES),
    "audio of an artist": ("Query.audios", ("audios",), 'artist: "the band"', "title", TITLES[:3]),
    "audio of an album": ("Query.audios", ("audios",), 'album: "BIG PINK"', "title", TITLES[:3]),
    "audio of a bucket": ("Query.audios", ("audios",), 'bucket: "mine"', "title", ["x"]),
    "audio of a genre": ("Query.audios", ("audios",), 'genre: "rock"', "title", ["t2", "t1", "t0"]),
    "audio of a genre, oldest first": (
        "Query.audios",
        ("audios",),
        'genre: "rock", order: OLDEST_FIRST',
        "title",
        TITLES[:3],
    ),
    "audio with a title": (
        "Query.audios",
        ("audios",),
        'title: { startsWith: "T" }',
        "title",
        TITLES[:3][::-1],
    ),
    "artists": ("Query.artists", ("artists",), "", "name", ARTISTS),
    "artists by prefix": ("Query.artists", ("artists",), 'prefix: "A"', "name", ARTISTS[:3]),
    "albums": ("Query.albums", ("albums",), "", "name", ["[Unknown Album]", "Big Pink"]),
    **{
        f"albums, {order}": ("Query.albums", ("albums",), f"order: {order}", "name", found)
        for order, found in (
            ("NEWEST", ["[Unknown Album]", "Big Pink"]),
            ("YEAR", ["[Unknown Album]", "Big Pink"]),
            ("MOST_PLAYED", ["Big Pink"]),
            ("RECENTLY_PLAYED", ["Big Pink"]),
        )
    },
    "genres": ("Query.genres", ("genres",), "", "name", ["Jazz", "Rock"]),
    "storages": ("Query.storages", ("storages",), "", "name", ["s1", "s0"]),
    "an artist's audio": (
        "Artist.audios",
        (f'node(id: "{THE_BAND}")', "...on Artist", "audios"),
        "",
        "title",
        TITLES[:3],
    ),
    "entries of a rule": (
        "EvaluatePlaylistRulePayload.entries",
        (
            'evaluatePlaylistRule(input: { rule: { filter: { genres: "rock" }, order: TITLE } })',
            "...on EvaluatePlaylistRulePayload",
            "entries",
        ),
        "",
        "title",
        TITLES[:3],
    ),
    "an artist's albums": (
        "Artist.albums",
        (f'node(id: "{THE_BAND}")', "...on Artist", "albums"),
        "",
        "name",
        ["Big Pink"],
    ),
    "an album's artists": (
        "Album.artists",
        (f'node(id: "{BIG_PINK}")', "...on Album", "artists"),
        "",
        "name",
        ["a0", "a1", "a2", "The Band"],
    ),
    "favourite albums": (
        "Viewer.favouriteAlbums",
        ("viewer", "favouriteAlbums"),
        "",
        "name",
        ["Big Pink"],
    ),
    "favourite artists": (
        "Viewer.favouriteArtists",
        ("viewer", "favouriteArtists"),
        "",
        "name",
        ["a0", "The Band"],
    ),
    "an album's audio": (
        "Album.audios",
        (f'node(id: "{BIG_PINK}")', "...on Album", "audios"),
        "",
        "title",
        TITLES[:3],
    ),
    "jobs": ("Query.jobs", ("jobs",), "", "state", ["PENDING", "DONE", "DONE"]),
    "failures of an import": (
        "Job.failures",
        (f'job(id: "{GlobalId("Job", JOB).encode()}")', "failures"),
        "",
        "objectKey",
        sorted(["a.txt", "b.txt", "c.txt"], key=object_hash),
    ),
    "use case 2": (
        "AudioLibrary.getAudioIdByUserId",
        (LIBRARY, "getAudioIdByUserId"),
        "",
        LINKED,
        ALL,
    ),
    "use case 3": (
        "AudioLibrary.getAudioIdByUserIdByArtist",
        (LIBRARY, "getAudioIdByUserIdByArtist"),
        'artist: "The Band"',
        LINKED,
        NAMED["titles"],
    ),
    "use case 4": (
        "AudioLibrary.getAudioIdByUserIdByAlbum",
        (LIBRARY, "getAudioIdByUserIdByAlbum"),
        'album: "Big Pink"',
        LINKED,
        NAMED["titles"],
    ),
    "use case 5": (
        "AudioLibrary.getAudioIdByUserIdByS3bucketName",
        (LIBRARY, "getAudioIdByUserIdByS3bucketName"),
        's3BucketName: "mine"',
        LINKED,
        [{"title": "x"}],
    ),
    "use case 6": (
        "AudioLibrary.getArtistsByUserId",
        (LIBRARY, "getArtistsByUserId"),
        "",
        "name",
        ARTISTS,
    ),
    "use case 7": (
        "AudioLibrary.getAlbumByUserId",
        (LIBRARY, "getAlbumByUserId"),
        "",
        "name",
        ["[Unknown Album]", "Big Pink"],
    ),
}


async def audio_catalogue(store: Store) -> None:
    """Make the content of the lists."""
    other = draft(
        "x.mp3", "x", "Zed", user="root", bucket="mine", connection_id="c", genres=("Jazz",)
    )
    await shelve(store, *album_tracks(3))
    await shelve(store, other)
    connections = replace(store.open_session(ROOT).audio.connections, takes_roles=True)
    job = Job(
        id=JOB,
        kind=JobKind.IMPORT_AUDIO,
        state=JobState.DONE,
        created_at="2022-08-10T23:55:20.322Z",
        created_by="root",
    )
    failures = [
        failure_item(connections.access, JOB, describe_failure(f"{name}.txt", NotFound("none")))
        for name in "abc"
    ]
    await store.table.write([Put(failure) for failure in failures])
    for state in (JobState.PENDING, JobState.DONE, JobState.DONE):
        await commit(store.table, creation_writes(msgspec.structs.replace(job, state=state)))
        job = msgspec.structs.replace(job, id=store.clock.new_id())
    for n in range(2):
        await connections.add_role(f"s{n}", "my-music", "us-east-1", ROLE)
