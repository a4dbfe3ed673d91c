"""Answers in XML and JSON say the same, and any text can be written in XML."""

from collections.abc import Mapping
from typing import Any
from xml.etree import ElementTree as ET

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.datastore.errors import RequestRefused
from penstock.datastore.store import Store
from penstock.server.edge.rate_limit import CallerAccount
from penstock.server.edge.response import internal_problem
from penstock.server.opensubsonic import app
from penstock.server.opensubsonic.answers import SubsonicError, encode_xml, measure_answer
from tests.datastore.audio.sample_library import ANN, add, listener
from tests.server.opensubsonic.players import NAMESPACE, Player, as_xml_shows, read_xml
from tests.server.opensubsonic.test_browsing import artists_of


@pytest.mark.usefixtures("library")
async def test_each_answer_says_the_same_in_both_forms(player: Player) -> None:
    ids = await artists_of(player)
    albums = (await player.ask("getArtist", id=ids["The Mill"]))["artist"]["album"]
    (_, song) = (await player.ask("getAlbum", id=albums[1]["id"]))["album"]["song"]
    await player.ask("star", id=[song["id"], ids["Zoë"]])
    await player.ask("createPlaylist", name="A & B", songId=song["id"])
    await player.ask("savePlayQueue", id=song["id"], current=song["id"])
    await player.ask("createBookmark", id=song["id"], position=5)
    calls: Mapping[str, dict[str, Any]] = {
        "ping": {},
        "getLicense": {},
        "getOpenSubsonicExtensions": {},
        "getUser": {},
        "getMusicFolders": {},
        "getArtists": {},
        "getArtist": {"id": ids["Zoë"]},
        "getAlbum": {"id": albums[1]["id"]},
        "getGenres": {},
        "getSong": {"id": "nonsense"},
        "getAlbumList2": {"type": "newest"},
        "getSongsByGenre": {"genre": "Folk"},
        "search3": {"query": ""},
        "getStarred2": {},
        "getPlaylists": {},
        "getPlayQueue": {},
        "getBookmarks": {},
    }
    for call, parameters in calls.items():
        said = await player.ask(call, **parameters)
        answer = await player.send(call, **parameters)
        assert answer.headers["content-type"] == "application/xml"
        assert read_xml(answer.content) == as_xml_shows(said)


@given(text=st.text())
def test_any_text_is_written_as_well_formed_xml(text: str) -> None:
    root = ET.fromstring(encode_xml({"name": text, "child": [{"value": text}, text]}))
    kept = "".join(" " if ord(one) < 32 and one not in "\t\n\r" else one for one in text)
    kept = "".join(
        " " if one in "\ufffe\uffff" or "\ud800" <= one <= "\udfff" else one for one in kept
    )
    assert root.get("name") == kept
    first, second = root.findall(f"{NAMESPACE}child")
    assert (first.text or "", second.text or "") == (kept, kept) or "\r" in text


@pytest.mark.parametrize(
    ("refused", "shown"),
    [
        ("AccessDenied", ("AWS refused a request of the server, whose log says which.", 503, 10)),
        ("ValidationException", ("Internal error.", 200, None)),
    ],
)
def test_a_file_that_aws_refuses_the_server_may_be_had_later(
    refused: str, shown: tuple[str, int, int | None]
) -> None:
    problem = internal_problem(RequestRefused("GetObject", refused, "secret words"), "r-1")
    failure = SubsonicError.of_problem(problem, of_file=True)
    assert (failure.message, failure.status, failure.retry_after) == shown


def test_an_answer_is_measured_until_it_is_too_large() -> None:
    track = {"title": "x" * 100, "artists": [{"name": "y" * 50}] * 10, "year": 2026}
    one = measure_answer(track, 10_000)
    assert 700 <= one <= 900
    assert measure_answer({"entry": [track] * 100}, 10**6) > 100 * 700
    assert measure_answer({"entry": (track,) * 100}, 10**6) > 100 * 700
    many = measure_answer({"entry": [track] * 1_000_000}, 10_000_000)
    assert 10_000_000 < many < 10_100_000


async def test_a_large_answer_is_paid_and_a_larger_one_refused(
    any_store: Store, player: Player, monkeypatch: pytest.MonkeyPatch
) -> None:
    owed: list[int] = []
    owe = CallerAccount.owe

    def note_owed(account: CallerAccount, units: int) -> None:
        owed.append(units)
        owe(account, units)

    monkeypatch.setattr(CallerAccount, "owe", note_owed)
    monkeypatch.setattr(app, "ANSWER_BYTES", 10)
    await add(listener(any_store, ANN), "a", "x" * 200, "y" * 200)
    assert (await player.ask("getRandomSongs", size=1))["status"] == "ok"
    assert owed[-1] > 40
    monkeypatch.setattr(app, "MAX_ANSWER", 300)
    assert await player.fail("getRandomSongs", size=1) == (
        0,
        "The answer has more than 300 characters: ask for less at once.",
    )
