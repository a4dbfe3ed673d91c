"""The application while its store or the network fails: no acknowledged write is lost."""

import asyncio
import json
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from random import Random
from typing import Any, Final

import pytest

from penstock.datastore.dynamodb import protocol
from penstock.datastore.dynamodb.table import DynamoDBTable
from penstock.datastore.resources import delete
from penstock.datastore.store import Store
from tests.faults.dynamodb_proxy import Fault, FaultProxy
from tests.support.application import ApplicationClient, open_application
from tests.support.consistency_check import contents, faults
from tests.support.graphql_client import CREATE, CREATE_GROUP, UPDATE, draft
from tests.support.patience import HUNG_SECONDS
from tests.support.stores import (
    delete_table,
    dynoxide_endpoint,
    moto_endpoint,
    open_dynamodb,
    quick_endpoint,
    skip_reason,
)

pytestmark = pytest.mark.runs_together("store faults")

GRANT = """mutation($input: GrantPipelineInput!) { grantPipeline(input: $input) { __typename
  ... on GrantPipelinePayload { pipeline { id version groups } } } }"""
DELETE = """mutation($input: DeletePipelineInput!) { deletePipeline(input: $input) { __typename
  ... on DeletePipelinePayload { pipeline { id } } } }"""
MAKE_KEY = """mutation($input: CreateApiKeyInput!) { createApiKey(input: $input) { __typename
  ... on CreateApiKeyPayload { apiKey { id } secret } } }"""
END_KEY = """mutation($input: RevokeApiKeyInput!) { revokeApiKey(input: $input) { __typename } }"""
ONE = "query($id: ID!) { pipeline(id: $id) { id name version groups } }"
FOUND = """query($tags: TagFilter) { pipelines(group: "/usa", tags: $tags, first: 100,
  order: OLDEST_FIRST) { nodes { id name version groups } } }"""
SILENCE: Final = 60.0
"""The longest silence of the store. It passes at once, for all requests that wait meanwhile."""

PATIENCE: Final = 1000 * SILENCE
SETTINGS = {"rate_limit_per_second": 0, "deadline_seconds": PATIENCE}
AWAY = (Fault.THROTTLED, Fault.UNAVAILABLE, Fault.RESET_BEFORE)


@dataclass(frozen=True, slots=True)
class FaultyApplication:
    """The application over a table behind a faulty proxy, and the same table read with patience.

    `statuses` counts HTTP statuses.
    """

    app: ApplicationClient
    proxy: FaultProxy
    table: DynamoDBTable
    patient: DynamoDBTable
    statuses: Counter[int] = field(default_factory=Counter)

    async def ask(self, document: str, **variables: Any) -> Any:
        """Return the value of the one root field of an answer without errors."""
        response = await self.app.ask(document, variables)
        self.statuses[response.status_code] += 1
        answer = response.json()
        assert "errors" not in answer, answer
        (value,) = answer["data"].values()
        return value

    async def refusal(self, document: str, **variables: Any) -> tuple[str, str | None]:
        """Return the code of an answer's one error, and its retry delay."""
        response = await self.app.ask(document, variables)
        (error,) = response.json()["errors"]
        return error["extensions"]["code"], response.headers.get("retry-after")

    @asynccontextmanager
    async def impatient(self, seconds: float) -> AsyncIterator[None]:
        """Shorten the store's deadline to `seconds` inside this context only."""
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(self.table, "_deadline", seconds)
            yield
        # Reads that run next to a failed one continue until their own deadline.
        await asyncio.sleep(seconds)

    def calm_down(self) -> None:
        self.proxy.chance(0, [], seed=0)

    async def damage(self) -> list[str]:
        """Return the contradictions between the rows of the table, read without faults."""
        self.calm_down()
        return await faults(self.patient)


@pytest.fixture(autouse=True)
def silence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(protocol, "READ_SECONDS", SILENCE)


@asynccontextmanager
async def open_faulty_application(
    tmp_path: Path, endpoint: str | None = None
) -> AsyncIterator[FaultyApplication]:
    async with AsyncExitStack() as held:
        proxy = await held.enter_async_context(FaultProxy(endpoint or quick_endpoint()))
        proxy.silence = SILENCE + 1
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(protocol, "READ_SECONDS", HUNG_SECONDS)
            patient = await open_dynamodb(proxy.url)
        held.push_async_callback(patient.close)
        await patient.create()
        table = await open_dynamodb(proxy.url, name=patient._name, deadline=PATIENCE)
        held.push_async_callback(table.close)
        app = await held.enter_async_context(open_application(Store(table), tmp_path, **SETTINGS))
        at = FaultyApplication(app, proxy, table, patient)
        for path in ("/usa", "/eu"):
            assert (await at.ask(CREATE_GROUP, input={"path": path}))["group"]
        yield at
        at.calm_down()
        # A transaction of moto takes longer the more items all its tables hold.
        await delete_table(table._client, table._name)


@dataclass(frozen=True, slots=True)
class ExpectedPipeline:
    """A pipeline as it was acknowledged."""

    id: str
    name: str
    version: int
    groups: tuple[str, ...] = ("/usa",)

    @classmethod
    def of(cls, node: dict[str, Any]) -> "ExpectedPipeline":
        return cls(node["id"], node["name"], node["version"], tuple(sorted(node["groups"])))


class Writer:
    """Writes one thing after another, and records the acknowledged state."""

    def __init__(self, at: FaultyApplication, number: int, seed: int) -> None:
        self._at = at
        self._number = number
        self._dice = Random(seed * 100 + number)
        self._made = 0
        self.kept: dict[str, ExpectedPipeline] = {}

    async def write(self, steps: int) -> None:
        for _ in range(steps):
            if not self.kept or self._dice.random() < 0.3:
                await self._create()
                continue
            one = self.kept[self._dice.choice(sorted(self.kept))]
            await self._dice.choice((self._update, self._update, self._grant, self._delete))(one)

    async def _create(self) -> None:
        self._made += 1
        name = f"{self._number} {self._made}"
        content = draft(name, "all=yes", f"writer={self._number}", group="/usa")
        told = await self._at.ask(CREATE, input={**content, "idempotencyKey": name})
        assert told["__typename"] == "CreatePipelinePayload", told
        self.kept[told["pipeline"]["id"]] = ExpectedPipeline(told["pipeline"]["id"], name, 1)

    async def _update(self, one: ExpectedPipeline) -> None:
        content = {"id": one.id, "expectedVersion": one.version, "description": f"{one.version}"}
        told = await self._at.ask(UPDATE, input=content)
        assert told["__typename"] == "UpdatePipelinePayload", told
        assert told["pipeline"]["version"] == one.version + 1
        self.kept[one.id] = replace(one, version=one.version + 1)

    async def _grant(self, one: ExpectedPipeline) -> None:
        told = await self._at.ask(GRANT, input={"id": one.id, "group": "/eu"})
        assert told["pipeline"]["groups"] == ["/usa", "/eu"], told
        self.kept[one.id] = replace(one, groups=("/eu", "/usa"))

    async def _delete(self, one: ExpectedPipeline) -> None:
        told = await self._at.ask(DELETE, input={"id": one.id})
        assert told["__typename"] == "DeletePipelinePayload", told
        del self.kept[one.id]


def tomorrow() -> str:
    return (datetime.now(UTC) + timedelta(days=1)).isoformat(timespec="seconds")


@pytest.mark.parametrize(
    ("implementation", "seed", "writers", "steps"),
    [("moto", 0, 3, 8), ("dynoxide", 1, 6, 24), ("dynoxide", 2, 6, 24)],
)
async def test_a_client_sees_nothing_of_faults_that_a_retry_helps_against(
    tmp_path: Path, implementation: str, seed: int, writers: int, steps: int
) -> None:
    if reason := skip_reason(implementation):
        pytest.skip(reason)
    endpoint = moto_endpoint() if implementation == "moto" else dynoxide_endpoint()
    async with open_faulty_application(tmp_path, endpoint=endpoint) as at:
        at.proxy.chance(0.25, Fault, seed=seed)
        writing = [Writer(at, number, seed) for number in range(writers)]
        await asyncio.gather(*(writer.write(steps) for writer in writing))
        met = Counter(seen.fault for seen in at.proxy.seen if seen.fault)
        found = await at.ask(FOUND, tags={"all": [{"key": "all", "value": "yes"}]})
        assert await at.damage() == []
    kept = {id: one for writer in writing for id, one in writer.kept.items()}
    assert {node["id"]: ExpectedPipeline.of(node) for node in found["nodes"]} == kept
    assert at.statuses.keys() == {200}
    assert sum(met.values()) > writers * steps // 12
    assert len(met) > 1


async def test_a_delete_in_many_steps_ends_through_any_faults(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(delete, "MAX_OPERATIONS", 6)
    async with open_faulty_application(tmp_path) as at:
        writer = Writer(at, 1, 1)
        for _ in range(8):
            await writer._create()
        for one in list(writer.kept.values()):
            await writer._update(one)
        gone = list(writer.kept.values())[:-1]
        at.proxy.seen.clear()
        at.proxy.chance(0.3, Fault, seed=1)
        at.proxy.script("BatchWriteItem", Fault.UNPROCESSED, Fault.RESET_AFTER, Fault.UNPROCESSED)
        await asyncio.gather(*(writer._delete(one) for one in gone))
        batches = [seen.fault for seen in at.proxy.seen if seen.operation == "BatchWriteItem"]
        assert batches.count(Fault.UNPROCESSED) >= 2
        assert await at.damage() == []
        found = await at.ask(FOUND, tags={"all": [{"key": "all", "value": "yes"}]})
        assert {node["id"] for node in found["nodes"]} == writer.kept.keys()
        assert await Store(at.table).count_pending_deletes() == 0


async def test_keys_are_made_and_ended_through_any_faults(tmp_path: Path) -> None:
    async with open_faulty_application(tmp_path) as at:
        at.proxy.chance(0.3, Fault, seed=2)
        roles = [{"group": "/usa", "role": "READER"}]
        content = {"name": "key", "roles": roles, "expiresAt": tomorrow()}
        made = [await at.ask(MAKE_KEY, input=content) for _ in range(8)]
        for one in made[:4]:
            assert (await at.ask(END_KEY, input={"id": one["apiKey"]["id"]})) == {
                "__typename": "RevokeApiKeyPayload"
            }
        at.calm_down()
        for number, one in enumerate(made):
            answer = await at.app.ask(
                "{ viewer { userId } }", headers={"authorization": f"Bearer {one['secret']}"}
            )
            assert answer.status_code == (401 if number < 4 else 200)


@pytest.mark.parametrize(
    ("document", "variables"),
    [
        (FOUND, {}),
        (ONE, {"id": "ABSENT"}),
        (CREATE, {"input": draft("other", group="/usa")}),
        (UPDATE, {"input": {"id": "ABSENT", "expectedVersion": 1, "description": "x"}}),
        (GRANT, {"input": {"id": "ABSENT", "group": "/eu"}}),
        (DELETE, {"input": {"id": "ABSENT"}}),
        (CREATE_GROUP, {"input": {"path": "/usa/below"}}),
    ],
    ids=["list", "one", "create", "update", "grant", "delete", "group"],
)
async def test_while_the_store_is_away_clients_are_told_when_to_come_again(
    tmp_path: Path, document: str, variables: dict[str, Any]
) -> None:
    async with open_faulty_application(tmp_path) as at:
        made = (await at.ask(CREATE, input=draft("one", group="/usa")))["pipeline"]
        before = await contents(at.patient)
        at.proxy.chance(1, AWAY, seed=0)
        given = json.loads(json.dumps(variables).replace("ABSENT", made["id"]))
        async with at.impatient(0.3):
            assert await at.refusal(document, **given) == ("SERVICE_UNAVAILABLE", "1")
        at.calm_down()
        assert await contents(at.patient) == before
        assert (await at.ask(ONE, id=made["id"]))["version"] == 1


async def test_while_the_store_is_away_a_caller_with_a_key_is_told_so_too(tmp_path: Path) -> None:
    async with open_faulty_application(tmp_path) as at:
        content = {"name": "key", "roles": [{"group": "/usa", "role": "READER"}]}
        made = await at.ask(MAKE_KEY, input={**content, "expiresAt": tomorrow()})
        at.proxy.chance(1, AWAY, seed=0)
        headers = {"authorization": f"Bearer {made['secret']}"}
        async with at.impatient(0.3):
            answer = await at.app.ask("{ viewer { userId } }", headers=headers)
        assert (answer.status_code, answer.headers["retry-after"]) == (503, "1")
        at.calm_down()
        answer = await at.app.ask("{ viewer { userId } }", headers=headers)
        assert answer.status_code == 200


@pytest.mark.parametrize("lost", [Fault.RESET_AFTER, Fault.SILENT_AFTER, Fault.DAMAGED])
@pytest.mark.parametrize("remembered", [True, False], ids=["remembered", "forgotten"])
@pytest.mark.parametrize("key", ["key", None])
async def test_a_create_whose_answer_is_lost_is_no_name_taken(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, lost: Fault, remembered: bool, key: str | None
) -> None:
    if not remembered:
        monkeypatch.setattr("tests.faults.dynamodb_proxy.TOKEN_SECONDS", 0.0)
    async with open_faulty_application(tmp_path) as at:
        at.proxy.script("TransactWriteItems", lost)
        content = draft("one", "all=yes", group="/usa")
        made = await at.ask(CREATE, input={**content, "idempotencyKey": key})
        assert made["__typename"] == "CreatePipelinePayload", made
        found = await at.ask(FOUND, tags={"all": [{"key": "all", "value": "yes"}]})
        assert [node["id"] for node in found["nodes"]] == [made["pipeline"]["id"]]
        assert await at.damage() == []
        told = await at.ask(CREATE, input=content)
        assert told["__typename"] == "NameTaken"


async def test_a_create_that_was_told_to_come_again_and_does_is_done_once(tmp_path: Path) -> None:
    async with open_faulty_application(tmp_path) as at:
        at.proxy.script("TransactWriteItems", Fault.SILENT_AFTER)
        content = {**draft("one", "all=yes", group="/usa"), "idempotencyKey": "key"}
        async with at.impatient(0.2):
            assert await at.refusal(CREATE, input=content) == ("SERVICE_UNAVAILABLE", "1")
        made = await at.ask(CREATE, input=content)
        assert made["__typename"] == "CreatePipelinePayload", made
        again = await at.ask(CREATE, input=content)
        assert again == made
        found = await at.ask(FOUND, tags={"all": [{"key": "all", "value": "yes"}]})
        assert [node["id"] for node in found["nodes"]] == [made["pipeline"]["id"]]
        assert await at.damage() == []
