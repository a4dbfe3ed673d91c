"""`penstock iam`: the policy permits every call of the server, and no other action."""

import json
from collections.abc import AsyncIterator, Mapping, Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, NamedTuple
from uuid import uuid4

import pytest

from penstock.datastore.clock import Clock
from penstock.datastore.dynamodb.create_table import TableDefinition
from penstock.datastore.dynamodb.protocol import DynamoDBClient
from penstock.datastore.dynamodb.retry import DEADLINE
from penstock.datastore.dynamodb.table import DynamoDBTable
from penstock.datastore.dynamodb.wire import Raw
from penstock.datastore.iam_policy import (
    DESTINATIONS_SETUP,
    server_policy,
    with_destinations,
    with_moves,
)
from penstock.datastore.mending.differences import find_differences
from penstock.datastore.ngsi.adoption.adopt import TableAdopter
from penstock.datastore.ngsi.destinations import TableKey
from penstock.datastore.ngsi.dynamodb_destinations import DynamoDBDestinations
from penstock.datastore.ngsi.large_values import LargeValues
from penstock.datastore.ngsi.loading.sample_writer import SampleWriter
from penstock.datastore.ngsi.options import ItemLayout
from penstock.datastore.objects.no_files import NO_FILES
from penstock.datastore.objects.s3 import S3Files
from penstock.datastore.objects.s3_multipart import PART_BYTES
from penstock.datastore.resources import delete
from penstock.datastore.store import Store
from penstock.datastore.table.port import Key, Query
from penstock.server.command_line import run
from penstock.server.settings.settings import Settings
from tests.datastore.ngsi.sample_destinations import event
from tests.datastore.ngsi.sample_destinations import open_dynamodb as open_destinations
from tests.datastore.ngsi.test_foreign_tables import ROW, SHAPES, create_table, put_items
from tests.support.graphql_client import Ask
from tests.support.stores import REGION, aws_environment, delete_table, moto_endpoint, open_dynamodb

TABLE = f"arn:aws:dynamodb:{REGION}:*:table"
IN_TRANSACTION = {
    "Put": "PutItem",
    "Delete": "DeleteItem",
    "Update": "UpdateItem",
    "ConditionCheck": "ConditionCheckItem",
}
OF_BUCKET = {
    "HeadBucket": "ListBucket",
    "ListMultipartUploads": "ListBucketMultipartUploads",
    "ListObjectsV2": "ListBucket",
    "GetBucketCors": "GetBucketCORS",
}
OF_FILE = {
    "AbortMultipartUpload": "AbortMultipartUpload",
    "CompleteMultipartUpload": "PutObject",
    "CopyObject": "PutObject",
    "CreateMultipartUpload": "PutObject",
    "DeleteObject": "DeleteObject",
    "GetObject": "GetObject",
    "HeadObject": "GetObject",
    "PutObject": "PutObject",
    "UploadPart": "PutObject",
}
"""The permissions of each call, from AWS's service authorization reference."""

NODES = "query($ids: [ID!]!) { nodes(ids: $ids) { id } }"
DELETE = """mutation($input: DeletePipelineInput!) { deletePipeline(input: $input) {
  __typename } }"""
DELETE_GROUP = """mutation($input: DeleteGroupInput!) { deleteGroup(input: $input) {
  __typename } }"""


class NeededPermission(NamedTuple):
    """A permission that a call needs."""

    action: str
    resource: str


def needed_permissions(operation: str, asked: Mapping[str, Any]) -> list[NeededPermission]:
    """Return the permissions that IAM requires for a call."""
    if operation in OF_BUCKET:
        return [NeededPermission(f"s3:{OF_BUCKET[operation]}", f"arn:aws:s3:::{asked['Bucket']}")]
    if operation in OF_FILE:
        file = f"arn:aws:s3:::{asked['Bucket']}/{asked['Key']}"
        source = asked.get("CopySource")
        read = [f"arn:aws:s3:::{source['Bucket']}/{source['Key']}"] if source else []
        return [
            NeededPermission(f"s3:{OF_FILE[operation]}", file),
            *(NeededPermission("s3:GetObject", each) for each in read),
        ]
    if operation == "TransactWriteItems":
        parts = [part for item in asked["TransactItems"] for part in item.items()]
        return [
            NeededPermission(f"dynamodb:{IN_TRANSACTION[kind]}", f"{TABLE}/{part['TableName']}")
            for kind, part in parts
        ]
    tables = [asked["TableName"]] if "TableName" in asked else list(asked["RequestItems"])
    index = f"/index/{asked['IndexName']}" if "IndexName" in asked else ""
    return [
        NeededPermission(f"dynamodb:{operation}", f"{TABLE}/{table}{index}") for table in tables
    ]


class Recorder:
    """Records the permissions of every call, before it is sent or signed."""

    def __init__(self) -> None:
        self.needed: set[NeededPermission] = set()

    def watch(self, opened: DynamoDBTable | DynamoDBDestinations) -> None:
        opened._client = RecordingClient(opened._client, self.needed)

    def watch_files(self, files: S3Files) -> None:
        files._client.meta.events.register("provide-client-params", self._note)

    def _note(self, params: Mapping[str, Any], model: Any, **_: object) -> None:
        self.needed.update(needed_permissions(model.name, params))

    @property
    def actions(self) -> set[str]:
        return {each.action for each in self.needed}


class RecordingClient:
    """A DynamoDB client that adds the permissions of each request to `found`."""

    def __init__(self, client: DynamoDBClient, found: set[NeededPermission]) -> None:
        self.endpoint_url = client.endpoint_url
        self._client = client
        self._found = found

    async def call(self, operation: str, request: Raw) -> Raw:
        self._found.update(needed_permissions(operation, request))
        return await self._client.call(operation, request)


def statements(found: Mapping[str, Any]) -> Sequence[Mapping[str, Any]]:
    listed: Sequence[Mapping[str, Any]] = found["Statement"]
    assert {each["Effect"] for each in listed} == {"Allow"}
    return listed


def permits(found: Mapping[str, Any], wanted: NeededPermission) -> bool:
    return any(
        wanted.action in each["Action"]
        and any(fnmatchcase(wanted.resource, pattern) for pattern in each["Resource"])
        for each in statements(found)
    )


def actions(found: Mapping[str, Any]) -> set[str]:
    return {action for each in statements(found) for action in each["Action"]}


async def bytes_of(*sizes: int) -> AsyncIterator[bytes]:
    for size in sizes:
        yield bytes(size)


async def broken_chunks() -> AsyncIterator[bytes]:
    yield bytes(PART_BYTES)
    raise ZeroDivisionError


@pytest.fixture
async def table() -> AsyncIterator[DynamoDBTable]:
    """A table on moto that does not exist yet."""
    table = await open_dynamodb(moto_endpoint())
    yield table
    await table.close()


@pytest.fixture
async def files() -> AsyncIterator[S3Files]:
    with aws_environment():
        name = f"penstock-{uuid4()}"
        files = await S3Files.open(name, region=REGION, endpoint_url=moto_endpoint())
    await files._client.create_bucket(Bucket=name)
    yield files
    await files.close()


async def set_up(table: DynamoDBTable, files: S3Files) -> None:
    """Create a table, and add index and expiry to one without them; read the settings of both."""
    assert isinstance(table._client, RecordingClient)
    await table.create()
    assert await TableDefinition(table._client, table._name, DEADLINE).safeguards() == (True, True)
    await delete_table(table._client._client, table._name)
    await table._client.call(
        "CreateTable",
        {
            "TableName": table._name,
            "KeySchema": [
                {"AttributeName": "pk", "KeyType": "HASH"},
                {"AttributeName": "sk", "KeyType": "RANGE"},
            ],
            "AttributeDefinitions": [
                {"AttributeName": "pk", "AttributeType": "S"},
                {"AttributeName": "sk", "AttributeType": "S"},
            ],
            "BillingMode": "PAY_PER_REQUEST",
        },
    )
    await table.create()
    assert await files.cors() == ()


async def work(table: DynamoDBTable, monkeypatch: pytest.MonkeyPatch) -> None:
    """Do a server's work: check, create, read, list, change and delete, also in many steps."""
    assert await table.verify() == []
    store = Store(table)
    await store.ping()
    ask = Ask(store)
    await ask.create_groups("/usa", "/usa/northwest", "/usa/southwest")
    first = await ask.make("/usa", "one", "color=red", idempotencyKey="k")
    second = await ask.make("/usa/northwest", "two", "color=red")
    assert await ask.names("/usa", tags=None) == ["one"]
    found = await ask(NODES, {"ids": [first, second]})
    assert found.value == [{"id": first}, {"id": second}]
    for version in range(1, 6):
        await ask.change(first, version, name=f"one-{version}")
    monkeypatch.setattr(delete, "MAX_OPERATIONS", 8)
    for id in (first, second):
        assert (await ask.input(DELETE, id=id))["__typename"] == "DeletePipelinePayload"
    deleted = await ask.input(DELETE_GROUP, path="/usa/northwest")
    assert deleted["__typename"] == "DeleteGroupPayload"
    await ask.make("/usa/southwest", "three")
    cascaded = await ask.input(DELETE_GROUP, path="/usa", cascade=True)
    assert cascaded["__typename"] == "DeleteGroupPayload"
    assert await store.run_jobs("worker") == 1
    assert (await store.finish_deletes(), await store.count_unheld_jobs()) == (0, 0)


async def keep_files(files: S3Files) -> None:
    """Use every file operation: single and multipart uploads, abort, describe, copy, delete."""
    assert await files.verify() == []
    await files.write("a/1", bytes_of(3), content_type="text/csv")
    await files.write("a/2", bytes_of(PART_BYTES, 1), content_type="text/csv")
    with pytest.raises(ZeroDivisionError):
        await files.write("a/3", broken_chunks(), content_type="text/csv")
    assert await files.stat("a/1") is not None
    assert await files.stat("a/none") is None
    assert b"".join([chunk async for chunk in files.read("a/1")]) == bytes(3)
    await files.drop_unfinished("a/3")
    await files.copy("a/1", "b/1")
    assert await files.list("") == ("a/1", "a/2", "b/1")
    await files.presign_download("a/1", expires_in=60)
    for key in ("a/1", "a/2", "b/1"):
        await files.delete(key)


async def test_every_call_is_permitted_and_nothing_that_is_never_called(
    table: DynamoDBTable, files: S3Files, monkeypatch: pytest.MonkeyPatch
) -> None:
    setting_up, working = Recorder(), Recorder()
    setting_up.watch(table)
    setting_up.watch_files(files)
    await set_up(table, files)
    working.watch(table)
    working.watch_files(files)
    await work(table, monkeypatch)
    await keep_files(files)

    least = server_policy(table._name, files.bucket, region=REGION)
    assert [each for each in working.needed if not permits(least, each)] == []
    assert actions(least) == working.actions
    whole = server_policy(table._name, files.bucket, region=REGION, setup=True)
    assert [each for each in setting_up.needed if not permits(whole, each)] == []
    assert actions(whole) == setting_up.actions
    assert setting_up.actions - working.actions == {
        "dynamodb:CreateTable",
        "dynamodb:DescribeContinuousBackups",
        "dynamodb:UpdateContinuousBackups",
        "dynamodb:UpdateTable",
        "dynamodb:UpdateTimeToLive",
        "s3:GetBucketCORS",
    }


def test_other_tables_and_buckets_are_not_permitted() -> None:
    found = server_policy("penstock", "files", region=REGION, setup=True)
    refused = [
        NeededPermission("dynamodb:GetItem", f"{TABLE}/penstock2"),
        NeededPermission("dynamodb:GetItem", f"{TABLE}/other"),
        NeededPermission("dynamodb:Query", f"{TABLE}/penstock/index/other"),
        NeededPermission("dynamodb:Scan", f"{TABLE}/penstock"),
        NeededPermission("dynamodb:DeleteTable", f"{TABLE}/penstock"),
        NeededPermission("s3:GetObject", "arn:aws:s3:::files2/a"),
        NeededPermission("s3:DeleteBucket", "arn:aws:s3:::files"),
    ]
    assert [each for each in refused if permits(found, each)] == []
    assert permits(found, NeededPermission("dynamodb:GetItem", f"{TABLE}/penstock"))
    assert permits(found, NeededPermission("s3:GetObject", "arn:aws:s3:::files/a/b"))


@pytest.mark.parametrize(
    ("region", "partition"),
    [
        (None, "aws"),
        ("eu-central-1", "aws"),
        ("us-east-1", "aws"),
        ("cn-north-1", "aws-cn"),
        ("us-gov-west-1", "aws-us-gov"),
    ],
)
def test_names_are_those_of_the_partition(region: str | None, partition: str) -> None:
    table, _, bucket, files = statements(
        server_policy("t-t", "files", region=region, account="1" * 12)
    )
    where = f"arn:{partition}:dynamodb:{region or '*'}:{'1' * 12}:table/t-t"
    assert table["Resource"] == [where]
    assert bucket["Resource"] == [f"arn:{partition}:s3:::files"]
    assert files["Resource"] == [f"arn:{partition}:s3:::files/*"]


@pytest.fixture
def _no_settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name in Settings.model_fields:
        monkeypatch.delenv(f"PENSTOCK_{name.upper()}", raising=False)


async def test_a_mover_reads_whole_tables_and_a_server_does_not(table: DynamoDBTable) -> None:
    await table.create()
    moving = Recorder()
    moving.watch(table)
    await find_differences(table, 2, lambda _count: None)
    assert moving.needed == {NeededPermission("dynamodb:Scan", f"{TABLE}/{table._name}")}
    server = server_policy(table._name, region=REGION)
    mover = with_moves(server, table._name, REGION)
    assert [each for each in moving.needed if not permits(mover, each)] == []
    assert {permits(server, each) for each in moving.needed} == {False}
    assert actions(mover) - actions(server) == {"dynamodb:Scan"}


@pytest.mark.usefixtures("_no_settings")
def test_the_policy_of_the_settings_is_printed(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PENSTOCK_TABLE", "things")
    assert run(["iam"]) == 0
    printed = capsys.readouterr().out
    assert json.loads(printed) == server_policy("things")
    assert "s3:" not in printed
    command = ["iam", "--bucket", "files", "--region", REGION, "--account", "1" * 12, "--setup"]
    assert run([*command, "--json"]) == 0
    wanted = server_policy("things", "files", region=REGION, account="1" * 12, setup=True)
    with_sink = with_destinations(wanted, "eu-central-1", "1" * 12, setup=True)
    assert json.loads(capsys.readouterr().out) == with_sink
    assert run([*command, "--move", "--json"]) == 0
    moves = with_moves(with_sink, "things", REGION, "1" * 12)
    assert json.loads(capsys.readouterr().out) == moves
    monkeypatch.setenv("PENSTOCK_NGSI", "false")
    assert run([*command, "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == wanted


async def test_every_call_for_a_destination_is_permitted_and_no_other() -> None:
    service = f"s{uuid4().hex}"
    name = f"{service}xffffx002f"
    destinations, recorder = await open_destinations(moto_endpoint()), Recorder()
    recorder.watch(destinations)
    persisting = SampleWriter(destinations, ItemLayout(), LargeValues(NO_FILES))
    await persisting.store_events([event(name)])
    await destinations.table(name).query(Query(partition="p"))
    await destinations.get([TableKey(name, Key("p", "s"))])
    await destinations.close()
    least = with_destinations(server_policy("penstock"), REGION)
    assert [each for each in recorder.needed if not permits(least, each)] == []
    (statement,) = [each for each in statements(least) if each["Sid"] == "Destinations"]
    assert set(statement["Action"]) == recorder.actions
    assert not permits(least, NeededPermission("dynamodb:Query", f"{TABLE}/other"))


async def test_every_call_of_an_adoption_is_permitted_by_the_setup_and_no_other(
    table: DynamoDBTable, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("penstock.datastore.ngsi.dynamodb_destinations.SCAN_PAGE", 2)
    name = f"s{uuid4().hex}xffffx002f"
    destinations, recorder = await open_destinations(moto_endpoint()), Recorder()
    await table.create()
    await create_table(destinations._client, name, SHAPES["Cygnus"])
    await put_items(destinations._client, name, ROW, {**ROW, "attrValue": "2"}, {**ROW, "x": 1})
    recorder.watch(destinations)
    adopter = TableAdopter(table, destinations, LargeValues(NO_FILES), Clock())
    result = await adopter.adopt(name, "s", dry_run=False, progress=lambda: None)
    await destinations.close()
    assert result.copied == 3
    least = with_destinations(server_policy("penstock"), REGION, setup=True)
    assert [each for each in recorder.needed if not permits(least, each)] == []
    served = with_destinations(server_policy("penstock"), REGION)
    assert actions(least) - actions(served) <= recorder.actions
    adding = [each for each in recorder.needed if not permits(served, each)]
    assert {each.action for each in adding} == set(DESTINATIONS_SETUP)


@pytest.mark.usefixtures("_no_settings")
@pytest.mark.parametrize(
    "text", ["*", "a*b", "abc?", "${aws:username}", 'a"b', "a b", "äbc", "a\n"]
)
@pytest.mark.parametrize("setting", ["TABLE", "BUCKET", "REGION", "KMS_KEY", "NGSI_REGION"])
def test_no_name_stands_for_more_than_one_thing(
    setting: str, text: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv(f"PENSTOCK_{setting}", text)
    assert run(["iam"]) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err.startswith(f"penstock: PENSTOCK_{setting}: ")


@pytest.mark.parametrize("account", ["12345678901", "1234567890123", "*", "me"])
def test_an_account_is_twelve_digits(account: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["iam", "--account", account]) == 2
    printed = capsys.readouterr()
    assert (printed.out, printed.err) == (
        "",
        f"penstock: --account {account}: must be 12 digits.\n",
    )
