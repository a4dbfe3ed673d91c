"""A client library by other authors plays the sample library of a real server."""

from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from pathlib import Path

import httpx
import pytest
from libopensonic import AsyncConnection, errors

from penstock.server.command_line import run
from tests.pages.page_run import in_half_a_year
from tests.support.patience import HUNG_SECONDS
from tests.support.penstock_command import token_of
from tests.support.server_process import VERIFY_TLS, RunningServer, running_server

pytestmark = pytest.mark.xdist_group("opensubsonic")

CREATE = """mutation { createApiKey(input: {name: "player", roles: [{group: "/", role: READER}],
  expiresAt: "%s"}) { ... on CreateApiKeyPayload { secret } } }"""
"""The operation that makes a key."""


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


@pytest.fixture
def server(tmp_path: Path) -> Iterator[RunningServer]:
    data = tmp_path / "data"
    assert run(["seed", "--data-dir", str(data), "--audio", "ana"]) == 0
    with running_server(data, ["--opensubsonic", "--no-console"]) as server:
        yield server


@pytest.fixture
async def listener(server: RunningServer) -> AsyncIterator[Listener]:
    key = _make_key(server)
    connection = connect(server, key)
    yield Listener(server, key, connection)
    await connection.cleanup()


def _make_key(server: RunningServer) -> str:
    headers = {"authorization": f"Bearer {token_of(server.data_dir, '/=admin')}"}
    body = {"query": CREATE % in_half_a_year()}
    answer = httpx.post(
        f"{server.url}/graphql",
        json=body,
        headers=headers,
        timeout=HUNG_SECONDS,
        verify=VERIFY_TLS,
    )
    secret: str = answer.json()["data"]["createApiKey"]["secret"]
    return secret


async def test_a_client_library_finds_an_album_and_plays_it_from_any_place(
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
    cover = await (await connection.get_cover_art(str(album.cover_art))).read()
    assert cover.startswith(b"\x89PNG")
    stranger = connect(listener.server, "penstock_wrong")
    with pytest.raises(errors.SonicError):
        await stranger.ping()
    await stranger.cleanup()


async def test_the_log_of_a_server_has_no_key(listener: Listener) -> None:
    url = listener.server.url
    async with httpx.AsyncClient(base_url=url, timeout=HUNG_SECONDS, verify=VERIFY_TLS) as client:
        for path in ("ping", "nonsense", "stream", "getAlbum"):
            await client.get(f"/rest/{path}", params={"apiKey": listener.key})
    logged = listener.server.stop()
    assert "ready" in logged or "Players" in logged
    assert listener.key.rpartition("_")[2] not in logged
