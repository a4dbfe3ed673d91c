"""`penstock doctor` of a store on DynamoDB: the connection, and each part of the table."""

import json
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from pathlib import Path

import pytest

from penstock.datastore.dynamodb.safeguards import Safeguards
from penstock.datastore.dynamodb.table import DynamoDBTable
from penstock.datastore.table.port import Put
from penstock.datastore.table.schema_marker import GuardedTable
from penstock.resolvers.findings import Severity
from penstock.server.commands.checks.dynamodb import judge_clock, judge_safeguards
from tests.server.commands.doctor_report import TOMBSTONE, examine, isolate
from tests.support.loopback_server import Answer, Connection, LoopbackServer, Request
from tests.support.stores import NOBODY, REGION, moto_endpoint, open_dynamodb


@pytest.fixture(autouse=True)
def _alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    with isolate(tmp_path, monkeypatch):
        yield


@pytest.fixture
async def table() -> AsyncIterator[DynamoDBTable]:
    """A table on moto that does not exist yet."""
    table = await open_dynamodb(moto_endpoint())
    yield table
    await table.close()


def dynamodb(endpoint_url: str, table: str) -> list[str]:
    where = ["--endpoint-url", endpoint_url, "--region", REGION]
    return ["--store", "dynamodb", "--table", table, *where]


@asynccontextmanager
async def answering(answer: Answer) -> AsyncIterator[str]:
    """A DynamoDB endpoint with one answer for every request."""

    async def serve(_: Request, connection: Connection) -> None:
        await connection.answer(answer)

    server = LoopbackServer(serve)
    yield await server.start()
    await server.stop()


def refusal(code: str, seconds_off: int = 0) -> Answer:
    date = format_datetime(datetime.now(UTC) + timedelta(seconds=seconds_off), usegmt=True)
    body = json.dumps({"__type": f"com.amazon.coral.service#{code}", "message": "no"}).encode()
    return Answer(400, body, {"Date": date, "Content-Type": "application/x-amz-json-1.0"})


async def test_a_table_as_it_must_be_passes_every_check(
    table: DynamoDBTable, capsys: pytest.CaptureFixture[str]
) -> None:
    await GuardedTable(table).create()
    report = await examine(capsys, *dynamodb(moto_endpoint(), table._name))
    assert report.code == 0
    assert report.levels == dict.fromkeys(
        (
            "variables",
            "endpoint",
            "credentials",
            "clock",
            "table",
            "table keys",
            "index",
            "ttl",
            "recovery",
            "protection",
            "rows",
            "unreadable rows",
            "imports",
            "deletes",
            "jobs",
            "runs",
            "given-up runs",
            "executions",
            "bucket",
            "issuer",
        ),
        "ok",
    )
    assert report["credentials"] == "Those of env are accepted."
    await table.write([Put(TOMBSTONE)])
    report = await examine(capsys, *dynamodb(moto_endpoint(), table._name))
    assert (report.code, report.levels["deletes"]) == (0, "warn")


async def test_a_missing_table_fails_with_the_command_that_makes_it(
    table: DynamoDBTable, capsys: pytest.CaptureFixture[str]
) -> None:
    report = await examine(capsys, *dynamodb(moto_endpoint(), table._name))
    assert report.code == 3
    assert report["table"].startswith(f"The table {table._name} does not exist. `penstock table")
    assert "index" not in report.levels
    assert await table.verify() == [f"The table {table._name} does not exist."]


async def test_each_difference_of_a_table_is_a_line(
    table: DynamoDBTable, capsys: pytest.CaptureFixture[str]
) -> None:
    await table._client.call(
        "CreateTable",
        {
            "TableName": table._name,
            "KeySchema": [
                {"AttributeName": "pk", "KeyType": "HASH"},
                {"AttributeName": "id", "KeyType": "RANGE"},
            ],
            "AttributeDefinitions": [
                {"AttributeName": "pk", "AttributeType": "S"},
                {"AttributeName": "id", "AttributeType": "S"},
            ],
            "BillingMode": "PAY_PER_REQUEST",
        },
    )
    report = await examine(capsys, *dynamodb(moto_endpoint(), table._name))
    failed = [check for check, level in report.levels.items() if level == "fail"]
    assert (report.code, failed) == (3, ["table keys", "index", "ttl"])
    assert report["index"].startswith("The index siKey1-pk-index does not exist.")


async def test_an_endpoint_that_nobody_serves_fails(capsys: pytest.CaptureFixture[str]) -> None:
    report = await examine(capsys, *dynamodb(NOBODY, "penstock"))
    assert (report.code, report.levels) == (
        3,
        {"variables": "ok", "endpoint": "fail", "bucket": "ok", "issuer": "ok"},
    )


async def test_missing_credentials_fail(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv("AWS_ACCESS_KEY_ID")
    report = await examine(capsys, *dynamodb(moto_endpoint(), "penstock"))
    assert report.code == 3
    assert report.levels["endpoint"] == "ok"
    assert report["credentials"].startswith("There are none. Give AWS_ACCESS_KEY_ID")
    assert "table" not in report.levels


@pytest.mark.parametrize(
    ("code", "failed"),
    [
        ("UnrecognizedClientException", ["credentials"]),
        ("ExpiredTokenException", ["credentials"]),
        ("AccessDeniedException", ["table"]),
    ],
)
async def test_a_refusal_fails_the_check_it_is_about(
    code: str, failed: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    async with answering(refusal(code)) as url:
        report = await examine(capsys, *dynamodb(url, "penstock"))
    assert report.code == 3
    assert [check for check, level in report.levels.items() if level == "fail"] == failed
    assert code in report[failed[0]]


async def test_a_wrong_clock_is_seen_in_the_refusal_it_causes(
    capsys: pytest.CaptureFixture[str],
) -> None:
    async with answering(refusal("InvalidSignatureException", seconds_off=600)) as url:
        report = await examine(capsys, *dynamodb(url, "penstock"))
    assert (report.code, report.levels["clock"]) == (3, "fail")
    assert "s behind the store's. Set it by NTP" in report["clock"]


@pytest.mark.parametrize(
    ("seconds", "level", "words"),
    [
        (0, Severity.OK, "It agrees with the store's."),
        (29, Severity.OK, "It agrees with the store's."),
        (-30, Severity.WARN, "It is 30 s ahead of the store's."),
        (30, Severity.WARN, "It is 30 s behind the store's."),
        (239, Severity.WARN, "It is 239 s behind the store's."),
        (-240, Severity.FAIL, "It is 240 s ahead of the store's."),
    ],
)
def test_clocks_may_differ_a_little(seconds: int, level: Severity, words: str) -> None:
    now = datetime(2026, 1, 1, tzinfo=UTC)
    found = judge_clock(now + timedelta(seconds=seconds), now)
    assert (found.level, found.message) == (level, words)


async def test_a_table_without_safeguards_is_warned_of_with_the_commands(
    table: DynamoDBTable, capsys: pytest.CaptureFixture[str]
) -> None:
    await table.create()
    named = {"TableName": table._name}
    off = {"PointInTimeRecoveryEnabled": False}
    await table._client.call(
        "UpdateContinuousBackups", {**named, "PointInTimeRecoverySpecification": off}
    )
    await table._client.call("UpdateTable", {**named, "DeletionProtectionEnabled": False})
    await table.create()
    report = await examine(capsys, *dynamodb(moto_endpoint(), table._name))
    assert report.code == 0
    assert (report.levels["recovery"], report.levels["protection"]) == ("warn", "warn")
    assert f"update-continuous-backups --table-name {table._name}" in report["recovery"]
    assert f"update-table --table-name {table._name}" in report["protection"]


def test_a_store_without_recovery_is_not_blamed() -> None:
    recovery, protection = judge_safeguards("t", Safeguards(None, True))
    assert (recovery.level, protection.level) == (Severity.OK, Severity.OK)
