"""The callers of the OpenSubsonic API: a key or a password, and every refusal of what is none."""

import asyncio
import logging
from collections.abc import AsyncIterator
from hashlib import md5
from math import inf
from pathlib import Path
from threading import current_thread
from typing import Any
from urllib.parse import parse_qsl

import pytest

from penstock.datastore.player_passwords import SealedPassword
from penstock.datastore.store import Store
from penstock.server.auth.player_passwords import MAX_READS, PlayerAuthenticator
from penstock.server.auth.shared_reads import LookUpTimes
from penstock.server.opensubsonic import app, parameters
from tests.datastore.audio.sample_library import ANN, BOB, add, listener
from tests.server.opensubsonic.players import (
    Player,
    key_of,
    make_password,
    open_players,
    player_of,
    with_vault,
)
from tests.support.loop_clock import let_tasks_run


def token(password: str, salt: str, user: str = "ann") -> dict[str, str]:
    """The parameters of a player that has a password, as the specification computes them."""
    digest = md5((password + salt).encode(), usedforsecurity=False).hexdigest()
    return {"u": user, "t": digest, "s": salt, "v": "1.16.1", "c": "tests"}


async def test_a_key_is_accepted_alone_or_as_the_password_of_its_user(
    any_store: Store, player: Player
) -> None:
    key = player.parameters["apiKey"]
    hexadecimal = f"enc:{key.encode().hex()}"
    for given in ({"apiKey": key}, {"u": "ann", "p": key}, {"u": "ann", "p": hexadecimal}):
        stranger = Player(player.client, given)
        assert (await stranger.ask("ping"))["status"] == "ok"
        said = await stranger.ask("getUser", username="bob")
        assert said["user"]["username"] == "ann"
    assert (await player.ask("tokenInfo"))["tokenInfo"] == {"username": "ann"}


@pytest.mark.parametrize(
    ("given", "code"),
    [
        ({}, 10),
        ({"u": "ann"}, 10),
        ({"p": "KEY"}, 10),
        ({"u": "bob", "p": "KEY"}, 40),
        ({"u": "ann", "p": "sesame"}, 40),
        ({"u": "ann", "p": "enc:zz"}, 40),
        ({"u": "ann", "p": "enc:ff"}, 40),
        ({"u": "ann", "t": "0" * 32, "s": "salt"}, 40),
        ({"u": "a" * 300, "t": "0" * 32, "s": "salt"}, 40),
        ({"u": "ann", "t": "é", "s": "\N{SNOWMAN}"}, 40),
        ({"u": "ann", "s": "salt"}, 10),
        ({"u": "ann", "t": "0" * 32}, 10),
        ({"t": "0" * 32, "s": "salt"}, 10),
        ({"u": "ann", "p": "KEY", "t": "0" * 32, "s": "salt"}, 43),
        ({"apiKey": "KEY", "u": "ann"}, 43),
        ({"apiKey": "KEY", "p": "KEY"}, 43),
        ({"apiKey": "KEY", "t": "0" * 32}, 43),
        ({"apiKey": "KEYx"}, 44),
        ({"apiKey": "penstock_é"}, 44),
        ({"apiKey": "eyJhbGciOiJub25lIn0.e30.AA"}, 44),
        ({"apiKey": "KEY", "v": "2.0.0"}, 30),
        ({"apiKey": "KEY", "v": "0.9"}, 20),
        ({"apiKey": "KEY", "v": "²"}, 30),
    ],
)
async def test_every_other_caller_gets_the_code_of_the_specification(
    any_store: Store,
    player: Player,
    given: dict[str, Any],
    code: int,
    caplog: pytest.LogCaptureFixture,
) -> None:
    key = player.parameters["apiKey"]
    sent = {name: value.replace("KEY", key) for name, value in given.items()}
    with caplog.at_level(logging.DEBUG):
        found, message = await Player(player.client, sent).fail("getArtists")
    assert found == code
    assert key not in message
    own = [record for record in caplog.records if record.name != "httpx"]
    assert key not in "".join(record.getMessage() for record in own)


async def test_a_password_is_accepted_with_a_salt_and_as_it_is(
    any_store: Store, player: Player, caplog: pytest.LogCaptureFixture
) -> None:
    password = (await make_password(any_store, "ann")).text
    other = (await make_password(any_store, "ann")).text
    salted = token(password, "c19b2d")
    accepted = [
        salted,
        token(other, "c19b2d"),
        token(password, "sält"),
        {**salted, "t": salted["t"].upper()},
        {"u": "ann", "p": password},
        {"u": "ann", "p": f"enc:{password.encode().hex()}"},
    ]
    refused = [
        token(password, "c19b2d", "bob"),
        {**salted, "s": "c19b2e"},
        {**salted, "t": salted["t"][:-1]},
        token(password[:-1], "c19b2d"),
        {"u": "bob", "p": password},
        {"u": "ann", "p": password.upper()},
    ]
    with caplog.at_level(logging.DEBUG):
        for given in accepted:
            said = await Player(player.client, given).ask("getUser", username="ann")
            assert said["user"]["username"] == "ann"
        for given in refused:
            assert (await Player(player.client, given).fail("ping"))[0] == 40
    assert (await Player(player.client, {"apiKey": password}).fail("ping"))[0] == 44
    own = [record for record in caplog.records if record.name != "httpx"]
    assert password not in "".join(record.getMessage() for record in own)


async def test_a_password_opens_nothing_but_the_library_of_its_user(
    any_store: Store, player: Player
) -> None:
    password = (await make_password(any_store, "ann")).text
    mine = Player(player.client, token(password, "salt"))
    track = await add(listener(any_store, ANN), "a", "Mine", "Ann", album="Own")
    foreign = await add(listener(any_store, BOB), "b", "Secret", "Bo", album="Hidden")
    assert (await mine.ask("getSong", id=track.id))["song"]["title"] == "Mine"
    assert (await mine.fail("getSong", id=foreign.id))[0] == 70
    bearer = {"authorization": f"Bearer {password}"}
    body = {"query": "{ __typename }"}
    answer = await player.client.post("/graphql", json=body, headers=bearer)
    assert answer.status_code == 401


async def test_a_revoked_password_is_refused(any_store: Store, tmp_path: Path) -> None:
    async with open_players(any_store, tmp_path / "now", api_key_cache_seconds=0) as client:
        made, other = [await make_password(any_store, "ann") for _ in range(2)]
        assert (await Player(client, token(made.text, "salt")).ask("ping"))["status"] == "ok"
        session = with_vault(any_store).open_session(ANN)
        await session.player_passwords.revoke(made.password.id)
        assert (await Player(client, token(made.text, "salt")).fail("ping"))[0] == 40
        assert (await Player(client, token(other.text, "salt")).ask("ping"))["status"] == "ok"


class Passwords:
    """Passwords that are equal to their ids; `read` and `opened` are what was asked for."""

    def __init__(self, **of_users: list[str]) -> None:
        self.of_users = of_users
        self.read: list[str] = []
        self.opened: list[str] = []
        self.held = asyncio.Event()
        self.held.set()

    async def find_player_passwords(self, user: str) -> list[SealedPassword]:
        self.read.append(user)
        await self.held.wait()
        return [SealedPassword(id, user, id) for id in self.of_users.get(user, [])]

    async def open_player_password(self, found: SealedPassword) -> str | None:
        self.opened.append(found.id)
        return None if found.id == "lost" else found.id


async def test_passwords_are_read_again_after_some_seconds_and_opened_once() -> None:
    now, stored = 0.0, Passwords(ann=["lost", "one", "two"])
    players = PlayerAuthenticator(stored, LookUpTimes(5, inf), lambda: now)

    async def id_of(user: str, password: str) -> str | None:
        caller = await players.caller_of(user, lambda text: text == password)
        assert caller is None or (caller.user_id, dict(caller.roles)) == (user, {})
        return None if caller is None else caller.api_key

    for at in (0.0, 4.9, 5.0, 9.9):
        now = at
        assert await id_of("ann", "two") == "two"
        assert await id_of("ann", "none") is None
        assert await id_of("eve", "one") is None
    assert (stored.read, stored.opened) == (["ann", "eve"] * 2, ["lost", "one", "two"])
    stored.of_users["ann"] = ["one"]
    assert await id_of("ann", "two") == "two"
    now = 10.0
    assert await id_of("ann", "two") is None


async def test_a_few_users_are_read_at_a_time_and_each_once_for_all_calls() -> None:
    stored = Passwords()
    stored.held.clear()
    players = PlayerAuthenticator(stored, LookUpTimes(5, inf))
    users = [f"u{n}" for n in range(MAX_READS + 9)]
    asked = [asyncio.create_task(players.caller_of(user, lambda _: True)) for user in users * 2]
    await let_tasks_run()
    assert len(stored.read) == MAX_READS
    stored.held.set()
    assert await asyncio.gather(*asked) == [None] * len(asked)
    assert stored.read == users


async def test_the_extensions_are_told_to_everybody(player: Player) -> None:
    said = await Player(player.client).ask("getOpenSubsonicExtensions")
    assert {each["name"] for each in said["openSubsonicExtensions"]} == {
        "apiKeyAuthentication",
        "formPost",
        "indexBasedQueue",
    }


async def test_a_call_may_be_a_form_and_may_end_in_view(player: Player) -> None:
    answer = await player.client.post("/rest/ping.view", data={**player.parameters, "f": "json"})
    assert answer.json()["subsonic-response"]["status"] == "ok"


async def test_an_unknown_call_is_not_found_and_a_form_without_end_is_refused(
    player: Player,
) -> None:
    unknown = await player.send("hls", f="json")
    assert (unknown.status_code, unknown.json()["subsonic-response"]["error"]["code"]) == (404, 0)
    large = await player.client.post("/rest/ping", params={"f": "json"}, content=b"x" * 1_000_001)
    assert (large.status_code, large.headers["content-type"]) == (200, "application/xml")
    many = await player.client.post(
        "/rest/ping", content="&".join(["id=1"] * 10_101).encode(), params=player.parameters
    )
    assert 'code="0"' in many.text


async def test_the_library_of_another_user_does_not_exist(any_store: Store, player: Player) -> None:
    foreign = await add(listener(any_store, BOB), "b", "Secret", "Bo", album="Hidden")
    bob = await player_of(any_store, player.client, "bob")
    (letter,) = (await bob.ask("getArtists"))["artists"]["index"]
    artist = (await bob.ask("getArtist", id=letter["artist"][0]["id"]))["artist"]
    assert (await player.ask("getArtists"))["artists"]["index"] == []
    assert (await player.fail("getArtist", id=artist["id"]))[0] == 70
    assert (await player.fail("getAlbum", id=artist["album"][0]["id"]))[0] == 70
    for call in ("getSong", "stream", "download", "getCoverArt"):
        assert (await player.fail(call, id=foreign.id))[0] == 70


async def test_without_the_setting_there_is_no_such_path(any_store: Store, tmp_path: Path) -> None:
    async with open_players(any_store, tmp_path / "off", opensubsonic=False) as client:
        key = await key_of(any_store, "ann")
        assert (await client.get("/rest/ping", params={"apiKey": key})).status_code == 404


async def test_calls_count_for_the_rate_limit(any_store: Store, tmp_path: Path) -> None:
    limits = {"rate_limit_per_second": 0.001, "rate_limit_burst": 4}
    async with open_players(any_store, tmp_path / "slow", **limits) as client:
        player = await player_of(any_store, client, "ann")
        assert [(await player.ask("ping"))["status"] for _ in range(2)] == ["ok", "ok"]
        answer = await player.send("ping", f="json")
    assert answer.json()["subsonic-response"]["error"]["code"] == 0
    assert int(answer.headers["retry-after"]) > 1000


@pytest.mark.parametrize(
    ("call", "count", "answered"), [("ping", 1_000, 9), ("ping", 3_000, 3), ("nothing", 3_000, 3)]
)
async def test_each_parameter_is_paid_whatever_is_called(
    any_store: Store, tmp_path: Path, call: str, count: int, answered: int
) -> None:
    limits = {"rate_limit_per_second": 0.001, "rate_limit_burst": 1_000}
    async with open_players(any_store, tmp_path / "slow", **limits) as client:
        player = await player_of(any_store, client, "ann")
        form = "a&" * count + f"apiKey={player.parameters['apiKey']}&f=json&v=1.16.1&c=test"
        answers = [await player.client.post(f"/rest/{call}", content=form) for _ in range(12)]
    refused = ["retry-after" in answer.headers for answer in answers]
    assert refused == [False] * answered + [True] * (12 - answered)


async def test_a_long_form_is_decoded_in_a_thread(
    player: Player, monkeypatch: pytest.MonkeyPatch
) -> None:
    threads = set[str]()

    def note_thread(text: str, *arguments: Any, **more: Any) -> list[tuple[str, str]]:
        if len(text) > app.STRANGER_BYTES:
            threads.add(current_thread().name.rpartition("_")[0])
        return parse_qsl(text, *arguments, **more)

    monkeypatch.setattr(parameters, "parse_qsl", note_thread)
    form = f"a={'%zz' * 9_000}&apiKey={player.parameters['apiKey']}&v=1.16.1&c=test"
    answer = await player.client.post("/rest/ping", content=form)
    assert ('status="ok"' in answer.text, threads) == (True, {"requests"})


async def test_parameters_are_decoded_for_callers_alone(
    player: Player, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Only what says who calls is decoded before: the rest may be long."""
    decoded: list[int] = []

    def note_parse(text: str, *arguments: Any, **more: Any) -> list[tuple[str, str]]:
        decoded.append(len(text))
        return parse_qsl(text, *arguments, **more)

    monkeypatch.setattr(parameters, "parse_qsl", note_parse)
    long = "a=%41&" * 9_000 + "b=" + "%41" * 200_000
    for credentials in ("", "u=eve&p=wrong", "apiKey=wrong", "&".join(["u=eve&p=wrong"] * 1_000)):
        for body in (f"{credentials}&{long}", f"{long}&{credentials}"):
            answer = await player.client.post("/rest/ping", content=body.encode())
            assert 'status="failed"' in answer.text
            for call in ("ping", "nothing"):
                answer = await player.client.get(f"/rest/{call}?{body[:15_000]}{body[-15_000:]}")
                assert 'status="failed"' in answer.text
    assert max(decoded) <= 16 * 2_049
    assert sum(decoded) <= 24 * 16 * 2_049
    key = player.parameters["apiKey"]
    answer = await player.client.post(
        "/rest/ping", content=f"a={'%41' * 9_000}&apiKey={key}&{long}"
    )
    assert 'status="ok"' in answer.text


async def test_a_key_behind_the_beginning_of_a_form_is_not_looked_for(player: Player) -> None:
    key = f"apiKey={player.parameters['apiKey']}"
    begins = [app.STRANGER_BEGIN - 3 - len(key), app.STRANGER_BEGIN]
    answers = [
        await player.client.post("/rest/ping", content=f"a={'b' * length}&{key}")
        for length in begins
    ]
    assert ['status="ok"' in answer.text for answer in answers] == [True, False]


@pytest.mark.parametrize("given", ["", "u=ann&p=wrong", "apiKey=wrong"])
async def test_strangers_send_a_beginning_only(
    any_store: Store, player: Player, given: str
) -> None:
    sent = 0

    async def form(begin: str) -> AsyncIterator[bytes]:
        nonlocal sent
        yield begin.encode()
        for at in range(64):
            sent = at
            yield b"&a=" + b"b" * 10_000

    for begin, url in ((given, "/rest/ping"), ("", f"/rest/ping?{given}")):
        answer = await player.client.post(url, content=form(begin))
        assert 'status="failed"' in answer.text
        assert sent < 7
    key = player.parameters["apiKey"]
    for begin, url in ((f"apiKey={key}", "/rest/ping"), ("", f"/rest/ping?apiKey={key}")):
        answer = await player.client.post(url, content=form(begin))
        assert 'status="ok"' in answer.text
        assert sent == 63


@pytest.mark.parametrize("call", ["ping/", "ping.view/", "a/b", ""])
async def test_no_answer_leads_elsewhere_with_the_key(player: Player, call: str) -> None:
    answer = await player.send(call, f="json")
    assert answer.status_code == 404
    assert "location" not in answer.headers
    assert player.parameters["apiKey"] not in answer.text
