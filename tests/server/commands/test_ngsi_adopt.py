"""`penstock ngsi adopt`, and what `penstock doctor` says of tables of other programs."""

import asyncio
import json
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import pytest

from penstock.datastore.dynamodb.table import DynamoDBTable
from penstock.datastore.ngsi.naming.table_names import NamingPlace, TableNameRegistry, adopted_name
from penstock.datastore.ngsi.options import NamingOptions
from penstock.resolvers.findings import Severity
from penstock.server.command_line import run
from penstock.server.commands.checks.sample_tables import judge_sample_tables
from tests.datastore.ngsi.sample_destinations import unique_table_name
from tests.datastore.ngsi.test_foreign_tables import (
    ROW,
    SHAPES,
    count_items,
    create_table,
    put_items,
)
from tests.server.commands.doctor_report import examine, isolate
from tests.support.stores import REGION, moto_endpoint, open_dynamodb


@pytest.fixture(autouse=True)
def _alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    with isolate(tmp_path, monkeypatch):
        monkeypatch.setenv("PENSTOCK_NGSI_REGION", REGION)
        monkeypatch.setenv("PENSTOCK_BUCKET", "files")
        monkeypatch.setenv("PENSTOCK_S3_ENDPOINT_URL", moto_endpoint())
        yield


@pytest.fixture
async def table() -> AsyncIterator[DynamoDBTable]:
    table = await open_dynamodb(moto_endpoint())
    await table.create()
    yield table
    await table.close()


def options(table: DynamoDBTable) -> list[str]:
    where = ["--endpoint-url", moto_endpoint(), "--region", REGION]
    return ["--store", "dynamodb", "--table", table._name, *where]


async def register(table: DynamoDBTable) -> tuple[str, str]:
    """Register a destination as the sink does; return its service and its name."""
    service = unique_table_name("s")[:20].replace("-", "")
    place = NamingPlace(service, "/4wheels", "car1", "car")
    registry = TableNameRegistry(table)
    return service, await registry.name_table(service, place, NamingOptions(), "2015")


async def adopt(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, Any, str]:
    code = await asyncio.to_thread(run, ["ngsi", "adopt", *arguments, "--json"])
    printed = capsys.readouterr()
    return code, json.loads(printed.out) if printed.out else None, printed.err


async def test_a_foreign_table_is_named_by_doctor_until_it_is_adopted(
    table: DynamoDBTable, capsys: pytest.CaptureFixture[str]
) -> None:
    service, name = await register(table)
    await create_table(table._client, name, SHAPES["Cygnus"])
    await put_items(table._client, name, ROW, {"entityId": "x"})
    report = await examine(capsys, *options(table))
    assert (report.code, report.levels["destinations"]) == (3, "warn")
    assert f"`penstock ngsi adopt {name}`" in report["destinations"]

    code, dry, _ = await adopt(capsys, name, "--dry-run", *options(table))
    assert (code, dry["copied"], dry["unreadable"]) == (1, 1, 1)
    report = await examine(capsys, *options(table))
    assert report.levels["destinations"] == "warn"

    code, done, _ = await adopt(capsys, name, "--service", service, *options(table))
    assert (code, done) == (1, {**dry, "copy": adopted_name(name)})
    assert await count_items(table._client, adopted_name(name)) == 1
    assert await count_items(table._client, name) == 2
    assert (await register_again(table, service)) == adopted_name(name)
    report = await examine(capsys, *options(table))
    assert report.levels["destinations"] == "ok"


async def register_again(table: DynamoDBTable, service: str) -> str:
    """The name that another process gives to the car's table now."""
    place = NamingPlace(service, "/4wheels", "car1", "car")
    return await TableNameRegistry(table).name_table(service, place, NamingOptions(), "2015")


async def test_a_table_that_is_missing_or_ours_is_refused_and_nothing_is_created(
    table: DynamoDBTable, capsys: pytest.CaptureFixture[str]
) -> None:
    for name, words in (("no-table", "There is no table"), (table._name, "our own keys")):
        code, _, printed = await adopt(capsys, name, "--service", "s", *options(table))
        assert code == 1
        assert words in printed


async def test_only_tables_of_dynamodb_can_be_adopted(capsys: pytest.CaptureFixture[str]) -> None:
    code, _, printed = await adopt(capsys, "a-table", "--store", "sqlite")
    assert code == 2
    assert "--store dynamodb" in printed


def test_a_finding_counts_the_foreign_tables() -> None:
    assert judge_sample_tables(3, []).level is Severity.OK
    found = judge_sample_tables(3, ["a", "b", "c"])
    assert (found.level, "a and 2 more" in found.message) == (Severity.WARN, True)
