"""A client library by other authors plays the sample library of a real server."""

from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from pathlib import Path

import httpx
import pytest
from libopensonic import AsyncConnection, errors

from penstock.datastore.api_keys import KeyText
from penstock.server.command_line import run
from tests.pages.page_run import in_half_a_year
from tests.support.patience import HUNG_SECONDS
from tests.support.penstock_command import token_of
from tests.support.server_process import VERIFY_TLS, RunningServer, running_server

pytestmark = pytest.mark.runs_together("opensubsonic")

CREATE = """mutation { createApiKey(input: {name: "player", roles: [{group: "/", role: READER}],
  expiresAt: "%s"}) { ... on CreateApiKeyPayload { secret } } }"""
"""The operation that makes a key."""

PASSWORD = """mutation { createPlayerPassword(input: {name: "player"}) {
  ... on CreatePlayerPasswordPayload { secret } } }"""


@dataclass
class Listener:
    """A connection of the library to a server, and the key of its user."""

    server: RunningServer
    key: str
    connection: AsyncConnection


def connect(server: RunningServer, key: str) -> AsyncConnection:
    return AsyncConnection(
        "http://127.0.0.1", port=int(server.url.rpartition(":")[2]), api_key=key, app_name="tests"
    )


def connect_with_password(
    server: RunningServer, password: str, *, legacy: bool = False
) -> AsyncConnection:
    """Connect as most players do: by token and salt, or else by the password in the URL."""
    return AsyncConnection(
        "http://127.0.0.1",
        "ana",
        password,
        port=int(server.url.rpartition(":")[2]),
        app_name="tests",
        legacy_auth=legacy,
    )


@pytest.fixture
def server(tmp_path: Path) -> Iterator[RunningServer]:
    data = tmp_path / "data"
    assert run(["seed", "--data-dir", str(data), "--audio", "ana"]) == 0
    with running_server(data, ["--opensubsonic", "--no-console"]) as server:
        yield server


@pytest.fixture
async def listener(server: RunningServer) -> AsyncIterator[Listener]:
    key = _make_secret(server, CREATE % in_half_a_year())
    connection = connect(server, key)
    yield Listener(server, key, connection)
    await connection.cleanup()


def _make_secret(server: RunningServer, document: str) -> str:
    headers = {"authorization": f"Bearer {token_of(server.data_dir, '/=admin')}"}
    body = {"query": document}
    answer = httpx.post(
        f"{server.url}/graphql", json=body, headers=headers, timeout=HUNG_SECONDS, verify=VERIFY_TLS
    )
    (made,) = answer.json()["data"].values()
    secret: str = made["secret"]
    return secret


async def test_a_client_library_plays_an_album_by_a_key_and_a_playlist_by_token_and_salt(
    listener: Listener,
) -> None:
    connection = listener.connection
    assert await connection.ping()
    artists = await connection.get_artists()
    (waves,) = (
        artist
        for letter in artists.index or []
        for artist in letter.artist or []
        if artist.name == "The Sine Waves"
    )
    first = (await connection.get_artist(waves.id)).album or []
    assert [album.name for album in first] == ["Åpen by", "Test Tones"]
    album = await connection.get_album(first[0].id)
    assert [song.title for song in album.song or []] == ["Åpen by", "Regn", "Natt"]
    for song in album.song or []:
        answer = await connection.stream(song.id)
        whole = await answer.read()
        assert (answer.status, len(whole)) == (200, song.size)
        sought = await connection.stream(song.id, byte_range="bytes=1000-1999")
        assert (sought.status, await sought.read()) == (206, whole[1000:2000])
    password = _make_secret(listener.server, PASSWORD)
    player = connect_with_password(listener.server, password)
    await play_a_playlist(player, [song.id for song in album.song or []])
    await player.cleanup()
    legacy = connect_with_password(listener.server, password, legacy=True)
    assert await legacy.ping()
    await legacy.cleanup()
    cover = await (await connection.get_cover_art(str(album.cover_art))).read()
    assert cover.startswith(b"\x89PNG")
    for stranger in (
        connect(listener.server, "penstock_wrong"),
        connect_with_password(listener.server, password[::-1]),
    ):
        with pytest.raises(errors.SonicError):
            await stranger.ping()
        await stranger.cleanup()


async def play_a_playlist(connection: AsyncConnection, songs: list[str]) -> None:
    """Make a playlist, play each entry from its middle on, and keep the place in the queue."""
    await connection.create_playlist(name="Road", song_ids=[*songs, songs[0]])
    (listed,) = await connection.get_playlists()
    playlist = await connection.get_playlist(listed.id)
    entries = playlist.entry or []
    assert [song.id for song in entries] == [*songs, songs[0]]
    for song in entries:
        size = int(song.size or 0)
        sought = await connection.stream(song.id, byte_range=f"bytes={size // 2}-")
        assert (sought.status, len(await sought.read())) == (206, size - size // 2)
        await connection.scrobble(song.id)
    await connection.update_playlist(playlist.id, song_indices_to_remove=[0])
    playlist = await connection.get_playlist(playlist.id)
    assert [song.id for song in playlist.entry or []] == [*songs[1:], songs[0]]
    await connection.star(sids=[songs[0]])
    starred = await connection.get_starred2()
    assert [song.id for song in starred.song or []] == [songs[0]]
    await connection.save_play_queue(songs, songs[1], 4_000)
    queue = await connection.get_play_queue()
    assert (queue.current, queue.position, queue.changed_by) == (songs[1], 4_000, "tests")
    found = await connection.search3("regn")
    assert [song.title for song in found.song or []] == ["Regn"]


async def test_the_log_of_a_server_has_no_key(listener: Listener) -> None:
    url = listener.server.url
    async with httpx.AsyncClient(base_url=url, timeout=HUNG_SECONDS, verify=VERIFY_TLS) as client:
        for path in ("ping", "nonsense", "stream", "getAlbum"):
            await client.get(f"/rest/{path}", params={"apiKey": listener.key})
    logged = listener.server.stop()
    assert "ready" in logged or "Players" in logged
    key = KeyText.parse(listener.key)
    assert key is not None
    assert key.secret not in logged
