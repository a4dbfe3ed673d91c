"""Audio libraries for tests that send documents as clients do."""

from typing import Any

from penstock.datastore.audio.add_tracks import TrackDraft
from penstock.datastore.audio.records import Audio
from penstock.datastore.roles import Caller
from penstock.datastore.store import Store
from penstock.schema.core.relay import GlobalId
from tests.datastore.audio.sample_library import draft
from tests.support.graphql_client import ROOT, Ask

ADD = """mutation($input: AddAudioInput!) { addAudio(input: $input) {
  __typename ...on AddAudioPayload { audio { id title version } }
  ...on DuplicateObject { existing } ...on UserError { code path } } }"""
UPLOAD = """mutation($input: CreateAudioUploadInput!) { createAudioUpload(input: $input) {
  __typename ...on CreateAudioUploadPayload { objectKey form { url method expiresAt
    fields { name value } headers { name } } } ...on UserError { code path } } }"""
CONNECT = """mutation($input: CreateStorageInput!) {
  createStorage(input: $input) { __typename
    ...on CreateStoragePayload { storage { id } }
    ...on UserError { code path message } } }"""


def global_id(track: Audio) -> str:
    return GlobalId("Audio", track.id).encode()


async def shelve(store: Store, *drafts: TrackDraft, caller: Caller = ROOT) -> list[Audio]:
    """Put tracks into the caller's library, whether or not their objects exist."""
    outcomes = await store.open_session(caller).audio.adding.add_many(drafts)
    tracks = [track for track in outcomes if isinstance(track, Audio)]
    assert len(tracks) == len(drafts), outcomes
    return tracks


def album_tracks(count: int, user: str = "root", **more: Any) -> list[TrackDraft]:
    """Return tracks t0, t1 ... of one album, each by its own artist and the band."""
    return [
        draft(
            f"{n}.mp3",
            f"t{n}",
            "The Band",
            f"a{n}",
            **{"user": user, "album": "Big Pink", "track": n + 1, "genres": ("Rock",), **more},
        )
        for n in range(count)
    ]


async def connect_bucket(ask: Ask, **more: Any) -> Any:
    """Connect a bucket with keys; return the answer."""
    keys = {"accessKeyId": "AKIAIOSFODNN7EXAMPLE", "secretAccessKey": "wJalrXUtnFEMI/K7MDENG"}
    asked = {"name": "n", "bucket": "my-music", "region": "us-east-1", "keys": keys, **more}
    return (await ask(CONNECT, {"input": asked})).value
