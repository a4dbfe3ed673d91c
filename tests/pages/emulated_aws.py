"""AWS for the commands of a page: an emulator, with tables that no other test uses."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import boto3

from penstock.server.command_line import run
from tests.datastore.ngsi.test_foreign_tables import ROW, SHAPES
from tests.support.stores import aws_environment, dynoxide_endpoint, moto_endpoint

REGION = "eu-central-1"
BUCKETS = ("penstock-files", "example-penstock-files")
"""The buckets that the pages name."""
TABLES = ("penstock", "penstock-2027")
CYGNUS_TABLE = "vehiclesxffffx002f4wheelsxffffcar1xffffcar"


def emulate_aws() -> dict[str, str]:
    """Prepare the emulator and return the environment with which commands reach it."""
    endpoint, s3_endpoint = dynoxide_endpoint(), moto_endpoint()
    with aws_environment():
        _prepare_tables(boto3.client("dynamodb", region_name=REGION, endpoint_url=endpoint))
        _create_buckets(boto3.client("s3", region_name=REGION, endpoint_url=s3_endpoint))
        place = ["--region", REGION, "--endpoint-url", endpoint]
        assert run(["table", "create", "--store", "dynamodb", "--table", "penstock", *place]) == 0
        kept = {name: text for name, text in os.environ.items() if name.startswith("AWS_")}
    return {
        **kept,
        "AWS_DEFAULT_REGION": REGION,
        "PENSTOCK_ENDPOINT_URL": endpoint,
        "PENSTOCK_S3_ENDPOINT_URL": s3_endpoint,
    }


def _prepare_tables(client: Any) -> None:
    """Delete the tables of earlier pages, and create the one that Cygnus filled."""
    pages = client.get_paginator("list_tables").paginate()
    for table in [name for page in pages for name in page["TableNames"] if _is_of_a_page(name)]:
        client.update_table(TableName=table, DeletionProtectionEnabled=False)
        client.delete_table(TableName=table)
    ((name, kind, role),) = SHAPES["Cygnus"]
    client.create_table(
        TableName=CYGNUS_TABLE,
        KeySchema=[{"AttributeName": name, "KeyType": role}],
        AttributeDefinitions=[{"AttributeName": name, "AttributeType": kind}],
        BillingMode="PAY_PER_REQUEST",
    )
    client.put_item(TableName=CYGNUS_TABLE, Item={name: {kind: "1"}, **_as_attributes(ROW)})


def _is_of_a_page(table: str) -> bool:
    """Whether pages name the table; other tests use the same emulator."""
    return table in TABLES or table.startswith(CYGNUS_TABLE)


def _as_attributes(row: Mapping[str, Any]) -> dict[str, dict[str, str]]:
    return {
        name: {"N": str(value)} if isinstance(value, int) else {"S": value}
        for name, value in row.items()
    }


def _create_buckets(client: Any) -> None:
    there = {bucket["Name"] for bucket in client.list_buckets()["Buckets"]}
    for bucket in {*BUCKETS} - there:
        client.create_bucket(
            Bucket=bucket, CreateBucketConfiguration={"LocationConstraint": REGION}
        )


def uses_aws(page: Path) -> bool:
    """Return whether commands of the page need AWS."""
    return any(word in page.read_text() for word in ("dynamodb", "\naws "))
