"""Every failure of audio's mutations occurs, changes nothing, and reveals nothing to outsiders."""

from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from penstock.datastore.access.vault import LocalVault
from penstock.datastore.audio import names
from penstock.datastore.audio.library import BucketAccess
from penstock.datastore.objects.port import Credentials
from penstock.datastore.quotas.amounts import Amounts
from penstock.datastore.quotas.quotas import Quotas
from penstock.datastore.quotas.rules import QuotaRules
from penstock.datastore.roles import Caller
from penstock.datastore.store import Store
from penstock.datastore.table.layout import ALBUM, CONNECTION
from penstock.datastore.table.port import Item, Put
from penstock.schema.core.relay import GlobalId
from tests.datastore.audio.sample_library import BOB, draft
from tests.datastore.audio.sample_uploads import TAGS, open_files, single_chunk, sound
from tests.schema.audio.mutation_failures import (
    ABSENT,
    AUDIO_CASES,
    KEYS,
    NOTHING,
    STORAGE,
    Theirs,
    documents_by_field,
    mutation,
)
from tests.schema.audio.sample_tracks import connect_bucket, global_id, shelve
from tests.support.consistency_check import contents
from tests.support.graphql_client import ROOT, Ask, as_caller
from tests.support.sample_resources import fill_open_uploads

DETAILS = {
    "QuotaExceeded": "quota maximum used",
    "ValidationProblem": "problems { path message }",
    "DuplicateObject": "existing",
    "VersionConflict": "currentVersion",
    "LimitExceeded": "limit maximum actual",
    "IllegalState": "state",
}


@pytest.fixture
async def ask(store: Store, tmp_path: Path) -> AsyncIterator[Ask]:
    """Ask a store that keeps files and secrets."""
    buckets = BucketAccess(LocalVault(b"k" * 32))
    async with open_files("local", tmp_path) as files:
        quotas = Quotas(QuotaRules(per_user=Amounts(files=1)))
        yield Ask(replace(store, files=files, user_buckets=buckets, quotas=quotas))
        await buckets.pool.close()


async def make_cases(ask: Ask) -> dict[str, str]:
    """Make the things that the cases name; a storage that points inside keeps its given name."""
    (track,) = await shelve(ask.store, draft("there", user="root", bucket="_local"))
    for key, content in (
        ("there", sound("mp3", 1, TAGS)),
        ("more", sound("mp3", 2, TAGS)),
        ("garbage", b"no audio at all"),
    ):
        await ask.store.files.write(f"audio/root/{key}", single_chunk(content), content_type="a/b")
    storage = (await connect_bucket(ask))["storage"]["id"]
    (row,) = [item for item in (await contents(ask.store.table)).values() if "sealed" in item]
    rows = [{**row, **CONNECTION.item(user="cora", connection=f"{n:036}")} for n in range(100)]
    for start in range(0, 100, 25):
        await ask.store.table.write([Put(item) for item in rows[start : start + 25]])
    await ask.store.table.write([Put({**row, "endpoint": "https://localhost"})])
    large = {**ALBUM.item(user="root", name="big", album="b" * 32), "name": "Big"}
    counts: Item = {"albumArtist": "A", "count": 501, "durationMs": 1}
    await ask.store.table.write([Put({**large, **counts})])
    await fill_open_uploads(ask.store.table, "cora")
    return {
        "track": global_id(track),
        "artist": GlobalId("Artist", names.artist_place("[Unknown Artist]")).encode(),
        "album": GlobalId("Album", names.album_place(track)).encode(),
        "large album": GlobalId("Album", f"big:{'b' * 32}").encode(),
        "no artist": GlobalId("Artist", "nobody:abc").encode(),
        "no album": GlobalId("Album", "nobody:abc").encode(),
        "absent": GlobalId("Audio", ABSENT).encode(),
        "storage": storage,
        "no storage": GlobalId("Storage", ABSENT).encode(),
        "there": "audio/root/there",
        "more": "audio/root/more",
        "garbage": "audio/root/garbage",
    }


@pytest.mark.parametrize(("union", "member"), AUDIO_CASES)
async def test_a_failure_occurs_and_changes_nothing(union: str, member: str, ask: Ask) -> None:
    case, made = AUDIO_CASES[union, member], await make_cases(ask)
    assert f"{case.field}Result".lower() == union.lower()
    input = {
        name: made.get(value, value) if isinstance(value, str) else value
        for name, value in case.input.items()
    }
    before = await contents(ask.store.table)
    details = f"...on {member} {{ {DETAILS[member]} }}" if member in DETAILS else ""
    document = mutation(case.field, f"__typename ...on UserError {{ code path message }} {details}")
    told = (await ask(document, {"in": input}, case.caller)).value
    assert (told["__typename"], told["code"], told["path"]) == (member, case.code, case.path)
    assert told["message"]
    for name, value in case.more.items():
        assert told[name] == made.get(str(value), value)
    for secret in KEYS.values():
        assert secret not in str(told)
    assert await contents(ask.store.table) == before


async def make_foreign_library(ask: Ask) -> Theirs:
    """Make another user's library with one thing of every kind in it."""
    (track,) = await shelve(
        ask.store, draft("x.mp3", "Theirs", "Somebody", album="Somebody", user="bob"), caller=BOB
    )
    await ask.store.files.write(
        "audio/bob/uploads/x.mp3", single_chunk(sound("mp3", 1, TAGS)), content_type="a/b"
    )
    connections = ask.store.open_session(BOB).audio.connections
    keys = Credentials("AKIAIOSFODNN7EXAMPLE", "their-secret-key")
    made = await connections.add_keys("n", "my-music", "us-east-1", keys)
    return Theirs(
        global_id(track),
        GlobalId("Artist", names.artist_place("Somebody")).encode(),
        GlobalId("Album", names.album_place(track)).encode(),
        GlobalId("Storage", made.id).encode(),
        "audio/bob/uploads/x.mp3",
        "Somebody",
    )


@pytest.mark.parametrize(
    "outsider", [ROOT, Caller("eve", {}), Caller("bo", {}), as_caller("b", "/=admin")]
)
async def test_an_outsider_is_told_what_is_told_of_nothing(outsider: Caller, ask: Ask) -> None:
    """An admin of the root group is an outsider to the libraries of others too."""
    theirs = await make_foreign_library(ask)
    before = await contents(ask.store.table)
    for field, documents in documents_by_field(theirs).items():
        for (document, variables), (_, nothing) in zip(
            documents, documents_by_field(NOTHING)[field], strict=True
        ):
            answer = await ask(document, variables, outsider)
            absent = await ask(document, nothing, outsider)
            assert (answer.data, _codes(answer)) == (absent.data, _codes(absent)), field
            assert _shows_nothing(answer.data, _codes(answer)), field
            assert await contents(ask.store.table) == before, field


def _codes(answer: Any) -> list[str]:
    return [error["extensions"]["code"] for error in answer.errors]


def _shows_nothing(data: Any, codes: list[str]) -> bool:
    (value,) = data.values()
    if value is None:
        return codes == ["NOT_FOUND"]
    return value == {"nodes": []} or bool(value["__typename"] == "NotFound")


async def test_the_library_is_that_of_the_token_alone(ask: Ask) -> None:
    await make_foreign_library(ask)
    query = "{ audioLibrary { count getAudioIdByUserId { nodes { audioId } } } }"
    for outsider in (ROOT, Caller("eve", {}), as_caller("eve", "/=admin")):
        told = (await ask(query, {}, outsider)).value
        assert told == {"count": 0, "getAudioIdByUserId": {"nodes": []}}
    assert (await ask(query, {}, BOB)).value["count"] == 1


WRONG: dict[str, dict[str, Any]] = {
    "a field is missing": {"region": None},
    "a field is too many": {"more": 1},
    "a field has another type": {"bucket": {"of": "a"}},
    "a secret has another type": {"keys": {**KEYS, "accessKeyId": [KEYS["secretAccessKey"]]}},
    "a secret is too many": {"keys": {**KEYS, "token": KEYS["secretAccessKey"]}},
    "a rule is broken": {"name": ""},
}


@pytest.mark.parametrize("wrong", WRONG)
@pytest.mark.parametrize("inline", [False, True])
async def test_no_error_repeats_a_secret(wrong: str, inline: bool, ask: Ask) -> None:
    input = {**STORAGE, **WRONG[wrong]}
    document, variables = mutation("createStorage"), {"in": input}
    if inline:
        told = "{ __typename ...on UserError { message } }"
        document = f"mutation {{ createStorage(input: {_literal(input)}) {told} }}"
        variables = {}
    answer = await ask(document, variables)
    for secret in KEYS.values():
        assert secret not in str(answer)
    assert answer.errors or answer.value["__typename"] == "ValidationProblem"


def _literal(value: Any) -> str:
    if isinstance(value, dict):
        return "{" + ", ".join(f"{name}: {_literal(each)}" for name, each in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(_literal, value)) + "]"
    return "null" if value is None else f'"{value}"' if isinstance(value, str) else str(value)
