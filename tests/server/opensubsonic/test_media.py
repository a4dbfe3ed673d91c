"""Files for players: redirects to signed URLs that serve ranges, downloads and covers."""

from dataclasses import replace
from pathlib import Path

import pytest
from httpx import Response

from penstock.datastore.audio.records import Audio
from penstock.datastore.errors import NotFound, PenstockError, RateLimited, Unavailable
from penstock.datastore.objects.directory import LocalFiles
from penstock.datastore.store import Store
from tests.datastore.audio.sample_library import add, listener
from tests.datastore.audio.sample_transcoder import CountedTranscoder
from tests.datastore.audio.sample_uploads import COVER, TAGS, sound, upload_and_register
from tests.server.opensubsonic.conftest import ANN
from tests.server.opensubsonic.players import Player, open_players, player_of

CONTENT = sound("flac", 2, TAGS, COVER)


@pytest.fixture
async def track(any_store: Store) -> Audio:
    return await upload_and_register(listener(any_store, ANN), "a song.flac", CONTENT)


async def read(store: Store, answer: Response) -> bytes:
    """Read the file behind a redirect."""
    assert (answer.status_code, answer.headers["cache-control"]) == (302, "no-store")
    files = store.files
    assert isinstance(files, LocalFiles)
    signed = answer.headers["location"].partition("/files/")[2]
    link = files.signer.check("GET", signed.encode())
    assert link is not None
    return b"".join([chunk async for chunk in files.read(link.key)])


async def test_a_stream_a_download_and_a_cover_lead_to_their_files(
    any_store: Store, player: Player, track: Audio
) -> None:
    assert await read(any_store, await player.send("stream", id=track.id)) == CONTENT
    posted = await player.client.post("/rest/stream", data={**player.parameters, "id": track.id})
    assert await read(any_store, posted) == CONTENT
    saved = await player.send("download", id=track.id)
    assert await read(any_store, saved) == CONTENT
    song = (await player.ask("getSong", id=track.id))["song"]
    for id in (song["coverArt"], song["albumId"], track.id):
        assert await read(any_store, await player.send("getCoverArt", id=id)) == COVER


async def test_a_track_without_a_cover_has_none(any_store: Store, player: Player) -> None:
    bare = await add(listener(any_store, ANN), "bare", "Bare", "Nobody")
    song = (await player.ask("getSong", id=bare.id))["song"]
    assert "coverArt" not in song
    for id in (bare.id, song["albumId"], "al-nothing", "../../x", "x"):
        code, _ = await player.fail("getCoverArt", id=id)
        assert code == 70


@pytest.mark.parametrize("user", ["bob", "ann/artwork", "../ann", "%61nn", "ann%2Fartwork", "Ann"])
async def test_the_id_of_anothers_cover_leads_to_nothing(
    any_store: Store, player: Player, track: Audio, user: str
) -> None:
    other = await player_of(any_store, player.client, user)
    ids = [track.artwork, track.id, (await player.ask("getSong", id=track.id))["song"]["albumId"]]
    assert await read(any_store, await player.send("getCoverArt", id=ids[0])) == COVER
    # The name of a cover is signed among the caller's own objects, where no such file is.
    with pytest.raises(NotFound):
        await read(any_store, await other.send("getCoverArt", id=ids[0]))
    for id in (*ids[1:], f"../../ann/artwork/{ids[0]}", f"ann/artwork/{ids[0]}"):
        code, _ = await other.fail("getCoverArt", id=id)
        assert code == 70


async def test_a_stream_is_converted_as_the_player_asks(
    any_store: Store, track: Audio, tmp_path: Path
) -> None:
    store = replace(any_store, transcoder=CountedTranscoder())
    async with open_players(store, tmp_path / "converting") as client:
        player = await player_of(store, client, "ann")
        for asked, content in (
            ({"format": "opus", "maxBitRate": 70}, b"opus at 64 of fLaC"),
            ({"maxBitRate": 96}, b"mp3 at 96 of fLaC"),
            ({"maxBitRate": 1}, b"mp3 at 32 of fLaC"),
            ({"format": "m4a"}, b"aac at 128 of fLaC"),
            ({"format": "raw", "maxBitRate": 64}, CONTENT),
            ({"format": "wma"}, CONTENT),
            ({"maxBitRate": 0}, CONTENT),
            ({}, CONTENT),
        ):
            assert await read(store, await player.send("stream", id=track.id, **asked)) == content
        assert await read(store, await player.send("download", id=track.id)) == CONTENT


async def test_a_server_that_converts_nothing_streams_the_file(
    any_store: Store, player: Player, track: Audio
) -> None:
    answer = await player.send("stream", id=track.id, format="opus", maxBitRate=64)
    assert await read(any_store, answer) == CONTENT


class FullLine(CountedTranscoder):
    """A transcoder for which too much waits."""

    def __init__(self, failure: PenstockError) -> None:
        super().__init__()
        self.failure = failure

    def require_place(self, user: str) -> None:
        raise self.failure


@pytest.mark.parametrize(
    ("failure", "status"), [(RateLimited(10, "Enough waits"), 429), (Unavailable("Full.", 10), 503)]
)
async def test_a_player_does_not_take_a_failure_that_passes_for_a_file(
    any_store: Store, track: Audio, tmp_path: Path, failure: PenstockError, status: int
) -> None:
    store = replace(any_store, transcoder=FullLine(failure))
    async with open_players(store, tmp_path / "full") as client:
        player = await player_of(store, client, "ann")
        answer = await player.send("stream", id=track.id, format="opus", f="json")
        assert (answer.status_code, answer.headers["retry-after"]) == (status, "10")
        assert answer.json()["subsonic-response"]["error"]["code"] == 0
        # A failure that stays has the status that the specification demands.
        assert (await player.fail("stream", id="nothing"))[0] == 70
