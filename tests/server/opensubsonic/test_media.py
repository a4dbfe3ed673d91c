"""Files for players: redirects to signed URLs that serve ranges, downloads and covers."""

import pytest
from httpx import Response

from penstock.datastore.audio.records import Audio
from penstock.datastore.errors import NotFound
from penstock.datastore.objects.directory import LocalFiles
from penstock.datastore.store import Store
from tests.datastore.audio.sample_library import add, listener
from tests.datastore.audio.sample_uploads import COVER, TAGS, sound, upload_and_register
from tests.server.opensubsonic.conftest import ANN
from tests.server.opensubsonic.players import Player, player_of

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
