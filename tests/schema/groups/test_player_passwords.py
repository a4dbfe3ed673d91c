"""Passwords of music players as a client makes, lists and revokes them."""

import re
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest

from penstock.datastore.access.vault import LocalVault
from penstock.datastore.audio.library import BucketAccess
from penstock.datastore.clock import iso_timestamp
from penstock.datastore.player_passwords import (
    LETTERS,
    MAX_PASSWORDS,
    find_player_passwords,
    open_player_password,
)
from penstock.datastore.roles import Caller
from penstock.datastore.store import Store
from tests.support.consistency_check import contents
from tests.support.graphql_client import Ask, as_caller

ANN, EVE = as_caller("ann", "/usa=reader"), as_caller("eve", "/usa=admin")
VAULT = LocalVault(b"k" * 32)
CREATE = """mutation($input: CreatePlayerPasswordInput!) { createPlayerPassword(input: $input) {
  __typename ...on CreatePlayerPasswordPayload { playerPassword { id name createdAt } secret }
  ...on UserError { code message path } } }"""
REVOKE = """mutation($input: RevokePlayerPasswordInput!) { revokePlayerPassword(input: $input) {
  __typename ...on RevokePlayerPasswordPayload { playerPassword { id name } }
  ...on UserError { code message path } } }"""
LIST = "{ viewer { playerPasswords { nodes { id name } } } }"


@pytest.fixture
def ask(store: Store) -> Ask:
    return Ask(replace(store, user_buckets=BucketAccess(VAULT)))


async def create(ask: Ask, caller: Caller = ANN, name: str = "Phone") -> Any:
    return await ask.input(CREATE, caller, name=name)


async def secrets_of(store: Store, user: str) -> list[str | None]:
    found = await find_player_passwords(store.table, user)
    return [await open_player_password(VAULT, each) for each in found]


async def test_a_password_is_told_once_and_stored_sealed(ask: Ask) -> None:
    before = iso_timestamp(datetime.now(UTC))
    made = await create(ask, name=" Phone ")
    secret, shown = made["secret"], made["playerPassword"]
    assert re.fullmatch(f"[{LETTERS}]{{26}}", secret)
    assert len(set(LETTERS)) == 32
    assert shown["name"] == "Phone"
    assert before <= shown["createdAt"] <= iso_timestamp(datetime.now(UTC))
    listed = (await ask(LIST, caller=ANN)).value["playerPasswords"]["nodes"]
    assert listed == [{"id": shown["id"], "name": "Phone"}]
    assert secret not in str(await contents(ask.store.table))
    assert await secrets_of(ask.store, "ann") == [secret]
    assert await secrets_of(ask.store, "eve") == []
    (found,) = await find_player_passwords(ask.store.table, "ann")
    assert await open_player_password(VAULT, found._replace(user="eve")) is None
    assert await open_player_password(LocalVault(b"x" * 32), found) is None


async def test_a_revoked_password_is_gone_and_others_stay(ask: Ask) -> None:
    one, two = [(await create(ask, name=name)) for name in ("one", "two")]
    id = one["playerPassword"]["id"]
    before = await contents(ask.store.table)
    for caller, given in ((EVE, id), (ANN, "no password")):
        told = await ask.input(REVOKE, caller, id=given)
        assert (told["__typename"], told["path"]) == ("NotFound", ["id"])
    assert await contents(ask.store.table) == before
    revoked = await ask.input(REVOKE, ANN, id=id)
    assert revoked["playerPassword"] == {"id": id, "name": "one"}
    assert await secrets_of(ask.store, "ann") == [two["secret"]]
    assert (await ask.input(REVOKE, ANN, id=id))["__typename"] == "NotFound"


async def test_an_api_key_manages_no_passwords(ask: Ask) -> None:
    id = (await create(ask))["playerPassword"]["id"]
    before = await contents(ask.store.table)
    key = Caller("ann", ANN.roles, None, "k")
    listed = await ask(LIST, caller=key)
    assert listed.data == {"viewer": {"playerPasswords": None}}
    assert [error["extensions"]["code"] for error in listed.errors] == ["FORBIDDEN"]
    for told in (await create(ask, key), await ask.input(REVOKE, key, id=id)):
        assert (told["__typename"], told["code"]) == ("NotPermitted", "FORBIDDEN")
    assert await contents(ask.store.table) == before


async def test_a_user_has_few_passwords(ask: Ask) -> None:
    for n in range(MAX_PASSWORDS):
        assert "secret" in await create(ask, name=f"{n}")
    before = await contents(ask.store.table)
    assert (await create(ask))["__typename"] == "LimitExceeded"
    assert await contents(ask.store.table) == before
    assert "secret" in await create(ask, EVE)


async def test_without_a_key_to_seal_it_no_password_is_made(store: Store) -> None:
    before = await contents(store.table)
    answer = await Ask(store)(CREATE, {"input": {"name": "Phone"}}, ANN)
    assert [error["extensions"]["code"] for error in answer.errors] == ["SERVICE_UNAVAILABLE"]
    assert await contents(store.table) == before
