"""The caller that an API key stands for, and every refusal of a key."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from math import inf
from pathlib import Path
from typing import Any
from uuid import UUID

import httpx
import pytest

from penstock.datastore.api_keys import Credential, KeyText
from penstock.datastore.errors import NotAuthenticated, Unavailable
from penstock.datastore.roles import ROOT, Caller, GroupPath, Role
from penstock.datastore.store import Store
from penstock.server.app import open_app
from penstock.server.auth.api_keys import MAX_READS, SESSION_SECONDS, ApiKeyAuthenticator
from penstock.server.auth.dev_tokens import DEV_TOKEN_LIFETIME, dev_key, sign_dev_token
from penstock.server.auth.shared_reads import LookUpTimes
from penstock.server.auth.tokens import Authentication
from penstock.server.runtime.stores import build_store
from penstock.server.settings.settings import Settings
from tests.server.auth.signed_tokens import bearer, refusal
from tests.support.error_details import extensions_of
from tests.support.patience import until
from tests.support.sample_resources import Watch

USA, NORTHWEST = GroupPath("/usa"), GroupPath("/usa/northwest")
ID = "018f3b6e-0000-7000-8000-000000000001"
OTHER_ID = "018f3b6e-0000-7000-8000-000000000002"
TEXT = KeyText(ID, "s" * 43)
REFUSED = "The API key is not accepted."
TOKEN_CALLER = Caller("tom", {})
HOUR = timedelta(hours=1)


class AnyTokenAuthenticator:
    """Accepts any token."""

    async def caller_of(self, _headers: object) -> Caller:
        return TOKEN_CALLER

    async def authenticate(self, _headers: object) -> Authentication:
        return Authentication(TOKEN_CALLER, 5.0)


class World:
    """Keys, two clocks, and the authenticator over them; `reads` lists the ids it looked up."""

    def __init__(self, seconds: float = 5.0) -> None:
        self.wall = Watch()
        self.clock = 1000.0
        self.reads: list[str] = []
        expires = int((self.wall() + HOUR).timestamp())
        roles = {NORTHWEST: Role.READER, USA: Role.ADMIN}
        self.keys = {ID: Credential(ID, "ann", roles, TEXT.digest, expires)}
        self.authenticator = ApiKeyAuthenticator(
            AnyTokenAuthenticator(),
            self._find,
            LookUpTimes(seconds, inf),
            now=self.wall,
            clock=lambda: self.clock,
        )

    async def _find(self, id: str) -> Credential | None:
        self.reads.append(id)
        return self.keys.get(id)

    async def refusal_of(self, text: object = TEXT) -> str:
        return await refusal(self.authenticator, bearer(str(text)))

    async def user(self) -> str:
        return (await self.authenticator.caller_of(bearer(str(TEXT)))).user_id


@pytest.fixture
def world() -> World:
    return World()


async def test_a_key_makes_its_user_the_caller_with_the_roles_of_the_key(world: World) -> None:
    caller = await world.authenticator.caller_of(bearer(str(TEXT)))
    assert (caller.user_id, caller.api_key, caller.default_group) == ("ann", ID, USA)
    assert dict(caller.roles) == {NORTHWEST: Role.READER, USA: Role.ADMIN}


async def test_a_session_ends_with_its_key_and_within_a_quarter_of_an_hour(world: World) -> None:
    authentication = await world.authenticator.authenticate(bearer(str(TEXT)))
    assert authentication.expires_at == world.wall().timestamp() + SESSION_SECONDS
    world.wall.move(HOUR - timedelta(minutes=1))
    authentication = await world.authenticator.authenticate(bearer(str(TEXT)))
    assert authentication.expires_at == world.keys[ID].expires


async def test_what_is_no_key_is_left_to_the_tokens(world: World) -> None:
    for token in ("eyJ.e30.AA", "Penstock_x", "xpenstock_", "penstock", "penstock-1"):
        assert await world.authenticator.caller_of(bearer(token)) is TOKEN_CALLER
        assert await world.authenticator.authenticate(bearer(token)) == Authentication(
            TOKEN_CALLER, 5.0
        )
    assert world.reads == []


@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"x-api-key": str(TEXT)},
        {"cookie": f"authorization=Bearer {TEXT}"},
        {"authorization": str(TEXT)},
        {"authorization": f"Basic {TEXT}"},
        {"authorization": f"ApiKey {TEXT}"},
    ],
)
async def test_a_key_counts_only_as_a_bearer(world: World, headers: dict[str, object]) -> None:
    assert await refusal(world.authenticator, headers)
    assert world.reads == []


async def test_whatever_is_wrong_with_a_key_is_told_in_the_same_words(world: World) -> None:
    for text in (
        KeyText(OTHER_ID, TEXT.secret),
        KeyText(ID, "t" * 43),
        KeyText(ID, "s" * 42),
        KeyText(ID.upper(), TEXT.secret),
        "penstock_",
        f"{TEXT}s",
        f"penstock_{'x' * 100_000}",
    ):
        assert await world.refusal_of(text) == REFUSED
    assert world.reads == [OTHER_ID, ID]
    world.wall.move(HOUR)
    assert await world.refusal_of() == REFUSED
    del world.keys[ID]
    world.clock += 5
    assert await world.refusal_of() == REFUSED


async def test_a_key_is_looked_up_again_after_five_seconds(world: World) -> None:
    for _ in range(3):
        assert await world.user() == "ann"
    world.clock += 4.999
    assert await world.user() == "ann"
    assert world.reads == [ID]
    world.clock += 0.001
    assert await world.user() == "ann"
    assert world.reads == [ID, ID]


async def test_a_revoked_key_works_for_five_seconds_at_most(world: World) -> None:
    assert await world.user() == "ann"
    del world.keys[ID]
    world.clock += 4.999
    assert await world.user() == "ann"
    world.clock += 0.001
    assert await world.refusal_of() == REFUSED
    world.clock += 100
    assert await world.refusal_of() == REFUSED


async def test_an_expired_key_does_not_work_although_it_is_kept(world: World) -> None:
    assert await world.user() == "ann"
    world.wall.move(HOUR)
    assert await world.refusal_of() == REFUSED
    assert world.reads == [ID]


async def test_with_no_seconds_to_keep_a_key_it_is_looked_up_each_time() -> None:
    world = World(seconds=0)
    assert (await world.user(), await world.user()) == ("ann", "ann")
    del world.keys[ID]
    assert await world.refusal_of() == REFUSED
    assert world.reads == [ID, ID, ID]


async def test_a_key_that_was_not_there_is_looked_up_again_after_five_seconds(world: World) -> None:
    kept = world.keys.pop(ID)
    for _ in range(3):
        assert await world.refusal_of() == REFUSED
    world.keys[ID] = kept
    world.clock += 4.9
    assert await world.refusal_of() == REFUSED
    assert world.reads == [ID]
    world.clock += 0.1
    assert await world.user() == "ann"
    assert world.reads == [ID, ID]


async def test_invented_keys_share_few_reads_and_drop_no_key(world: World) -> None:
    under_way, most, may_end = 0, 0, asyncio.Event()

    async def find_slowly(id: str) -> Credential | None:
        nonlocal under_way, most
        world.reads.append(id)
        under_way += 1
        most = max(most, under_way)
        await may_end.wait()
        under_way -= 1
        return world.keys.get(id)

    assert await world.user() == "ann"
    slow = ApiKeyAuthenticator(AnyTokenAuthenticator(), find_slowly, LookUpTimes(5, inf))
    ids = [str(UUID(int=n)) for n in range(3 * MAX_READS)]
    asking = [
        asyncio.create_task(slow.caller_of(bearer(str(KeyText(id, "x" * 43)))))
        for id in (*ids, *ids)
    ]
    await until(lambda: under_way == MAX_READS)
    asking[0].cancel()
    may_end.set()
    refused = await asyncio.gather(*asking, return_exceptions=True)
    assert [type(one) for one in refused[1:]] == [NotAuthenticated] * (len(asking) - 1)
    assert (most, sorted(world.reads[1:])) == (MAX_READS, sorted(ids))
    for id in ids:
        await refusal(world.authenticator, bearer(str(KeyText(id, "x" * 43))))
    assert await world.user() == "ann"
    assert world.reads.count(ID) == 1


async def test_the_keys_that_are_kept_are_bounded(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("penstock.server.auth.api_keys.MAX_CACHED_KEYS", 2)
    small = World()
    for n in range(3):
        id = f"{ID[:-1]}{n}"
        small.keys[id] = replace(world.keys[ID], id=id)
        await small.authenticator.caller_of(bearer(str(KeyText(id, TEXT.secret))))
    await small.authenticator.caller_of(bearer(str(KeyText(f"{ID[:-1]}0", TEXT.secret))))
    assert [id[-1] for id in small.reads] == ["0", "1", "2", "0"]


async def test_a_store_that_is_away_refuses_nobody() -> None:
    async def away(_id: str) -> Credential | None:
        raise Unavailable("The store did not answer.")

    with pytest.raises(Unavailable):
        await ApiKeyAuthenticator(AnyTokenAuthenticator(), away, LookUpTimes(5, inf)).caller_of(
            bearer(str(TEXT))
        )


async def test_the_settings_bound_the_life_of_a_key(store: Store) -> None:
    assert build_store(store.table, Settings.load()).longest_api_key == timedelta(days=365)
    settings = Settings.load(api_key_max_days=7)
    assert build_store(store.table, settings).longest_api_key == timedelta(days=7)


CREATE = """mutation($in: CreateApiKeyInput!) { createApiKey(input: $in) { __typename
  ...on CreateApiKeyPayload { secret apiKey { id } } ...on UserError { code } } }"""
REVOKE = """mutation($in: RevokeApiKeyInput!) {
  revokeApiKey(input: $in) { __typename ...on UserError { code } } }"""
GROUP = """mutation($in: CreateGroupInput!) {
  createGroup(input: $in) { __typename ...on UserError { code } } }"""
DELETE = """mutation($in: DeleteGroupInput!) {
  deleteGroup(input: $in) { __typename ...on UserError { code } } }"""
VIEWER = "{ viewer { userId roles { group role } defaultGroup } }"


class Api:
    """The whole application, with requests by the holder of a token or key."""

    def __init__(self, http: httpx.AsyncClient, settings: Settings) -> None:
        self._http = http
        self.token = sign_dev_token(
            dev_key(settings.data_dir), "ann", {ROOT: Role.ADMIN}, ROOT, DEV_TOKEN_LIFETIME
        )

    async def ask(self, token: str, query: str, input: dict[str, Any] | None = None) -> Any:
        body = {"query": query, "variables": {"in": input}}
        return await self._http.post("/graphql", json=body, headers=bearer(token))

    async def value(self, token: str, query: str, input: dict[str, Any] | None = None) -> Any:
        answer = (await self.ask(token, query, input)).json()
        assert "errors" not in answer, answer
        (value,) = answer["data"].values()
        return value

    async def make(self, role: str, **below: str) -> Any:
        expires = (datetime.now(UTC) + HOUR).isoformat()
        held = {"/usa": role, **{f"/usa/{name}": lower for name, lower in below.items()}}
        roles = [{"group": group, "role": role} for group, role in held.items()]
        return await self.value(
            self.token, CREATE, {"name": "k", "roles": roles, "expiresAt": expires}
        )


@pytest.fixture
async def api(store: Store, tmp_path: Path) -> AsyncIterator[Api]:
    settings = Settings.load(data_dir=tmp_path, api_key_cache_seconds=0)
    async with open_app(settings, store, None) as app:
        transport = httpx.ASGITransport(app)
        async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as http:
            yield Api(http, settings)


async def test_a_key_works_over_http_as_far_as_its_roles_go(api: Api) -> None:
    assert (await api.value(api.token, GROUP, {"path": "/usa"}))["__typename"]
    admin, reader = (await api.make("ADMIN"))["secret"], (await api.make("READER"))["secret"]
    assert await api.value(reader, VIEWER) == {
        "userId": "ann",
        "roles": [{"group": "/usa", "role": "READER"}],
        "defaultGroup": "/usa",
    }
    refused = await api.value(reader, GROUP, {"path": "/usa/x"})
    assert refused == {"__typename": "NotPermitted", "code": "FORBIDDEN"}
    assert await api.value(admin, GROUP, {"path": "/usa/x"}) == {"__typename": "CreateGroupPayload"}
    assert (await api.value(admin, GROUP, {"path": "/eu"}))["__typename"] == "NotFound"


async def test_a_key_makes_no_group_anew_at_which_it_had_a_lower_role(api: Api) -> None:
    for path in ("/usa", "/usa/x"):
        await api.value(api.token, GROUP, {"path": path})
    key = (await api.make("ADMIN", x="READER"))["secret"]
    assert (await api.value(api.token, DELETE, {"path": "/usa/x"}))["__typename"]
    for path in ("/usa/x", "/usa/x/y"):
        refused = await api.value(key, GROUP, {"path": path})
        assert refused == {"__typename": "NotPermitted", "code": "FORBIDDEN"}
    roles = [{"group": "/usa", "role": "ADMIN"}, {"group": "/usa/x", "role": "READER"}]
    assert (await api.value(key, VIEWER))["roles"] == roles
    children = await api.value(api.token, '{ group(path: "/usa") { children { nodes { path } } } }')
    assert children == {"children": {"nodes": []}}
    assert await api.value(key, GROUP, {"path": "/usa/y"}) == {"__typename": "CreateGroupPayload"}


async def test_a_revoked_key_is_unauthenticated_over_http(api: Api) -> None:
    made = await api.make("ADMIN")
    revoke = {"id": made["apiKey"]["id"]}
    assert (await api.value(made["secret"], REVOKE, revoke))["__typename"] == "NotPermitted"
    assert (await api.value(api.token, REVOKE, revoke))["__typename"] == "RevokeApiKeyPayload"
    for secret in (made["secret"], str(TEXT)):
        answer = await api.ask(secret, VIEWER)
        assert answer.status_code == 401
        assert answer.headers["www-authenticate"].startswith('Bearer realm="penstock"')
        extensions = extensions_of("UNAUTHENTICATED", answer.headers["x-request-id"])
        assert answer.json() == {"errors": [{"message": REFUSED, "extensions": extensions}]}
