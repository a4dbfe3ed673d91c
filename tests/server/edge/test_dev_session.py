"""`POST /dev/session`: a page's code becomes a token, and nothing else does."""

import asyncio
import json
from collections.abc import AsyncIterator
from hashlib import sha256
from pathlib import Path
from typing import Any

import httpx
import pytest

from penstock.datastore.roles import ROOT, Caller, GroupPath, Role
from penstock.datastore.store import Store
from penstock.server.app import open_app
from penstock.server.auth.dev_identity import dev_identity
from penstock.server.auth.dev_sessions import CODES, issue_code, redeem_code
from penstock.server.edge.dev_session import MAX_BODY_BYTES
from penstock.server.settings.settings import Settings
from tests.support.patience import until
from tests.support.stores import open_store

VIEWER = {"query": "{ viewer { userId } }"}
JSON = {"content-type": "application/json"}
ISSUER = {"issuer": "https://login.example.org", "audience": "penstock", "graphiql": True}


@pytest.fixture
async def store(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Store]:
    async with open_store("sqlite", tmp_path_factory.mktemp("table")) as store:
        yield store


@pytest.fixture
async def client(store: Store, tmp_path: Path) -> AsyncIterator[httpx.AsyncClient]:
    async for one in clients_of(store, tmp_path):
        yield one


async def clients_of(
    store: Store, data_dir: Path, **given: Any
) -> AsyncIterator[httpx.AsyncClient]:
    settings = Settings.load(data_dir=data_dir, **given)
    identity = await dev_identity(settings, store)
    async with (
        open_app(settings, store, identity) as app,
        httpx.AsyncClient(
            transport=httpx.ASGITransport(app), base_url="http://localhost"
        ) as client,
    ):
        yield client


async def exchange(client: httpx.AsyncClient, **proof: object) -> httpx.Response:
    return await client.post("/dev/session", json=proof)


def code_of(answer: httpx.Response) -> str:
    (error,) = answer.json()["errors"]
    code: str = error["extensions"]["code"]
    return code


async def viewer_of(client: httpx.AsyncClient, token: str) -> str:
    headers = {"authorization": f"Bearer {token}"}
    answer = await client.post("/graphql", json=VIEWER, headers=headers)
    user: str = answer.json()["data"]["viewer"]["userId"]
    return user


async def test_a_code_becomes_a_token_once(client: httpx.AsyncClient, tmp_path: Path) -> None:
    code = issue_code(tmp_path)
    answer = await exchange(client, code=code)
    assert (answer.status_code, answer.headers["cache-control"]) == (200, "no-store")
    assert "set-cookie" not in answer.headers
    session = answer.json()
    assert set(session) == {"token", "renewal", "renewAfter", "actsAs", "callers"}
    assert session["callers"] == [{"userId": "dev@localhost", "roles": "admin of /"}]
    assert session["renewAfter"] == 6 * 3600
    assert await viewer_of(client, session["token"]) == "dev@localhost"
    again = await exchange(client, code=code)
    assert (again.status_code, code_of(again)) == (401, "UNAUTHENTICATED")
    assert again.headers["cache-control"] == "no-store"


async def test_a_session_is_renewed(client: httpx.AsyncClient, tmp_path: Path) -> None:
    first = (await exchange(client, code=issue_code(tmp_path))).json()
    second = (await exchange(client, renewal=first["renewal"])).json()
    assert await viewer_of(client, second["token"]) == "dev@localhost"
    refused = await exchange(client, renewal=first["token"])
    assert (refused.status_code, code_of(refused)) == (401, "UNAUTHENTICATED")


async def test_a_page_of_the_sample_data_acts_as_one_of_three_callers(
    store: Store, tmp_path: Path
) -> None:
    groups = store.open_session(Caller("root", {ROOT: Role.ADMIN}, ROOT)).groups
    for path in ("/usa", "/usa/northwest", "/eu"):
        await groups.create(GroupPath(path), path)
    async for client in clients_of(store, tmp_path):
        first = (await exchange(client, code=issue_code(tmp_path))).json()
        assert (first["actsAs"], first["callers"]) == (
            "dev@localhost",
            [
                {"userId": "dev@localhost", "roles": "admin of /"},
                {"userId": "contributor@localhost", "roles": "contributor of /usa/northwest"},
                {"userId": "reader@localhost", "roles": "reader of /eu"},
            ],
        )
        proof = {"renewal": first["renewal"], "actAs": "reader@localhost"}
        second = (await exchange(client, **proof)).json()
        third = (await exchange(client, renewal=second["renewal"])).json()
        for session in (second, third):
            assert session["actsAs"] == "reader@localhost"
            assert await viewer_of(client, session["token"]) == "reader@localhost"
        refused = await exchange(client, **{**proof, "actAs": "root"})
        assert (refused.status_code, code_of(refused)) == (400, "BAD_USER_INPUT")
        stranger = await exchange(client, renewal=first["token"], actAs="root")
        assert (stranger.status_code, code_of(stranger)) == (401, "UNAUTHENTICATED")


class Pauses:
    """Takes the place of a sleep: it notes the seconds, and lasts until `end` is set."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.seconds: list[float] = []
        self.end = asyncio.Event()
        monkeypatch.setattr("penstock.server.auth.dev_sessions.sleep", self._sleep)

    async def _sleep(self, seconds: float) -> None:
        self.seconds.append(seconds)
        await self.end.wait()


async def test_wrong_proofs_wait_for_each_other_and_right_ones_for_none(
    client: httpx.AsyncClient, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pauses = Pauses(monkeypatch)
    wrong = [
        asyncio.create_task(exchange(client, **{name: f"{n}" * (n + 1)}))
        for n in range(15)
        for name in ("code", "renewal")
    ]
    await until(lambda: len(pauses.seconds) == 30)
    assert sorted(pauses.seconds) == [min(0.25 * n, 5) for n in range(1, 31)]
    first = await exchange(client, code=issue_code(tmp_path))
    second = await exchange(client, renewal=first.json()["renewal"])
    assert (first.status_code, second.status_code) == (200, 200)
    assert not any(one.done() for one in wrong)
    pauses.end.set()
    assert [(await one).status_code for one in wrong] == [401] * 30
    assert (await exchange(client, code="again")).status_code == 401
    assert pauses.seconds[30:] == [0.25]


async def test_a_long_code_is_not_hashed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    code = issue_code(tmp_path)
    hashed: list[int] = []

    def note(text: bytes) -> object:
        hashed.append(len(text))
        return sha256(text)

    monkeypatch.setattr("penstock.server.auth.dev_sessions.sha256", note)
    assert not redeem_code(tmp_path, code * 1_000)
    assert redeem_code(tmp_path, code)
    assert hashed == [len(code)]


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"{",
        b"[]",
        b"{}",
        b"null",
        b'{"code": 1}',
        b'{"code": null}',
        b'{"code": "CODE", "renewal": "a"}',
        b'{"code": "CODE", "user": "root"}',
        b'{"code": ["CODE"]}',
        b'{"code": "CODE", "actAs": "dev@localhost"}',
        b'{"actAs": "dev@localhost"}',
        b"\xff",
        b"[" * 16_000,
    ],
)
async def test_a_bad_body_uses_no_code_up(
    client: httpx.AsyncClient, tmp_path: Path, body: bytes
) -> None:
    code = issue_code(tmp_path)
    sent = body.replace(b"CODE", code.encode())
    answer = await client.post("/dev/session", content=sent, headers=JSON)
    assert (answer.status_code, code_of(answer)) == (400, "BAD_REQUEST")
    assert (await exchange(client, code=code)).status_code == 200


@pytest.mark.parametrize("size", [MAX_BODY_BYTES + 1, 500_000])
async def test_a_body_of_more_than_16_kib_uses_no_code_up(
    client: httpx.AsyncClient, tmp_path: Path, size: int
) -> None:
    code = issue_code(tmp_path)
    sent = json.dumps({"code": code}).encode().ljust(size)
    answer = await client.post("/dev/session", content=sent, headers=JSON)
    assert (answer.status_code, code_of(answer)) == (413, "PAYLOAD_TOO_LARGE")
    assert (await exchange(client, code=code)).status_code == 200


@pytest.mark.parametrize(
    "renewal", ["", "a", "a.b.c", "TOKEN", "TOKENx", "eyJhbGciOiJub25lIn0.e30.", "é", "penstock_a"]
)
async def test_every_bad_renewal_gets_the_same_sentence(
    client: httpx.AsyncClient, tmp_path: Path, renewal: str
) -> None:
    token = (await exchange(client, code=issue_code(tmp_path))).json()["token"]
    refused = await exchange(client, renewal=renewal.replace("TOKEN", token))
    (error,) = refused.json()["errors"]
    assert (refused.status_code, error["message"]) == (
        401,
        "The session has ended, or is none of ours.",
    )


@pytest.mark.parametrize(
    "content_type",
    ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=a", ""],
)
async def test_a_form_of_another_site_uses_no_code_up(
    client: httpx.AsyncClient, tmp_path: Path, content_type: str
) -> None:
    code = issue_code(tmp_path)
    body = json.dumps({"code": code})
    headers = {"content-type": content_type}
    answer = await client.post("/dev/session", content=body, headers=headers)
    assert (answer.status_code, code_of(answer)) == (415, "UNSUPPORTED_MEDIA_TYPE")
    assert len(list((tmp_path / CODES).iterdir())) == 1


async def test_a_code_in_the_address_is_no_proof(client: httpx.AsyncClient, tmp_path: Path) -> None:
    code = issue_code(tmp_path)
    got = await client.get("/dev/session", params={"code": code})
    posted = await client.post("/dev/session", params={"code": code}, json={})
    asked = await client.post("/graphql", params={"code": code}, json=VIEWER)
    assert [one.status_code for one in (got, posted, asked)] == [405, 400, 401]
    assert len(list((tmp_path / CODES).iterdir())) == 1


@pytest.mark.parametrize("given", [ISSUER, {"host": "0.0.0.0"}])
async def test_a_server_for_others_exchanges_no_code(
    store: Store, tmp_path: Path, given: dict[str, Any]
) -> None:
    code = issue_code(tmp_path)
    async for client in clients_of(store, tmp_path, **given):
        assert (await exchange(client, code=code)).status_code == 404
        page = await client.get("/graphiql")
        assert '"sessionUrl": null' in page.text
    assert len(list((tmp_path / CODES).iterdir())) == 1
