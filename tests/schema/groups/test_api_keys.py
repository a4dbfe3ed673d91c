"""API keys as a client makes, lists and revokes them."""

import re
from datetime import UTC, datetime, timedelta
from typing import Any

from graphql import GraphQLObjectType

from penstock.datastore.clock import iso_timestamp
from penstock.datastore.roles import Caller
from penstock.datastore.store import Store
from penstock.schema import schema
from penstock.schema.engine.documents import core_schema
from tests.support.consistency_check import contents
from tests.support.graphql_client import Ask, as_caller

ANN = as_caller("ann", "/usa=admin", "/usa/northwest=reader")
EVE = as_caller("eve", "/usa=admin")
CREATE = """mutation($input: CreateApiKeyInput!) { createApiKey(input: $input) { __typename
  ...on CreateApiKeyPayload { apiKey { id name createdAt expiresAt roles { group role } } secret }
  ...on UserError { code message path } ...on ValidationProblem { problems { path } } } }"""
REVOKE = """mutation($input: RevokeApiKeyInput!) { revokeApiKey(input: $input) { __typename
  ...on RevokeApiKeyPayload { apiKey { id name } } ...on UserError { code message path } } }"""
LIST = "{ viewer { userId apiKeys { nodes { id name roles { group role } } } } }"


def tomorrow() -> str:
    return iso_timestamp(datetime.now(UTC) + timedelta(days=1))


async def create(ask: Ask, caller: Caller = ANN, **more: Any) -> Any:
    usual = {"name": "nightly", "roles": [{"group": "/USA/south", "role": "CONTRIBUTOR"}]}
    return await ask.input(CREATE, caller, **{**usual, "expiresAt": tomorrow(), **more})


async def test_a_key_is_shown_with_its_secret_once_and_listed_without(ask: Ask) -> None:
    before, expires = iso_timestamp(datetime.now(UTC)), tomorrow()
    made = await create(ask, expiresAt=expires)
    key, secret = made["apiKey"], made["secret"]
    assert re.fullmatch(rf"penstock_{key['id']}_[A-Za-z0-9_-]{{43}}", secret)
    roles = [{"group": "/usa/south", "role": "CONTRIBUTOR"}]
    assert (key["name"], key["roles"]) == ("nightly", roles)
    assert key["expiresAt"] == f"{expires[:-4]}000Z"
    assert before <= key["createdAt"] <= iso_timestamp(datetime.now(UTC))
    listed = (await ask(LIST, caller=ANN)).value["apiKeys"]["nodes"]
    assert listed == [{"id": key["id"], "name": "nightly", "roles": roles}]


def test_no_type_but_the_payload_shows_a_secret() -> None:
    fields = {
        (type.name, name)
        for type in core_schema(schema).type_map.values()
        if isinstance(type, GraphQLObjectType)
        for name in type.fields
        if re.search("secret|digest|hash|token", name, re.IGNORECASE)
    }
    assert fields == {
        ("CreateApiKeyPayload", "secret"),
        ("CreatePlayerPasswordPayload", "secret"),
    }


async def test_a_revoked_key_leaves_the_list(ask: Ask) -> None:
    id = (await create(ask))["apiKey"]["id"]
    revoked = await ask.input(REVOKE, ANN, id=id)
    assert revoked == {"__typename": "RevokeApiKeyPayload", "apiKey": {"id": id, "name": "nightly"}}
    assert (await ask(LIST, caller=ANN)).value == {"userId": "ann", "apiKeys": {"nodes": []}}
    assert (await ask.input(REVOKE, ANN, id=id))["__typename"] == "NotFound"


async def test_keys_of_others_are_neither_listed_nor_revoked(ask: Ask, store: Store) -> None:
    id = (await create(ask))["apiKey"]["id"]
    before = await contents(store.table)
    told = await ask.input(REVOKE, EVE, id=id)
    absent = await ask.input(REVOKE, EVE, id="no key")
    assert told == absent
    assert (told["__typename"], told["code"], told["path"]) == ("NotFound", "NOT_FOUND", ["id"])
    assert (await ask(LIST, caller=EVE)).value == {"userId": "eve", "apiKeys": {"nodes": []}}
    assert await contents(store.table) == before


async def test_who_uses_a_key_is_told_who_they_are_and_of_no_key(ask: Ask, store: Store) -> None:
    id = (await create(ask))["apiKey"]["id"]
    before = await contents(store.table)
    key = Caller("ann", ANN.roles, None, id)
    listed = await ask(LIST, caller=key)
    assert listed.data == {"viewer": {"userId": "ann", "apiKeys": None}}
    assert [error["extensions"]["code"] for error in listed.errors] == ["FORBIDDEN"]
    for told in (await create(ask, key), await ask.input(REVOKE, key, id=id)):
        assert (told["__typename"], told["code"]) == ("NotPermitted", "FORBIDDEN")
    assert await contents(store.table) == before


async def test_every_broken_rule_of_a_key_is_told_with_its_place(ask: Ask, store: Store) -> None:
    told = await create(ask, name=" ", roles=[], expiresAt="2020-01-01T00:00:00Z")
    assert told["__typename"] == "ValidationProblem"
    paths = [problem["path"] for problem in told["problems"]]
    assert paths == [["name"], ["roles"], ["expiresAt"]]
    assert await contents(store.table) == {}


async def test_more_than_the_callers_own_roles_is_refused(ask: Ask, store: Store) -> None:
    for group, typename in (
        ("/usa", "NotPermitted"),
        ("/usa/northwest", "NotPermitted"),
        ("/", "NotPermitted"),
        ("/eu", "NotFound"),
    ):
        told = await create(ask, roles=[{"group": group, "role": "CONTRIBUTOR"}])
        assert told["__typename"] == typename, group
    assert await contents(store.table) == {}
