"""A diagnosis of a table from outside: endpoint, credentials and definition, without its items."""

import asyncio
from collections.abc import Mapping
from contextlib import suppress
from datetime import datetime
from email.utils import parsedate_to_datetime
from typing import NamedTuple

from aiobotocore.session import AioSession
from botocore.exceptions import BotoCoreError, ClientError

from penstock.datastore.dynamodb.client import connect
from penstock.datastore.dynamodb.create_table import TableDefinition, TableDifferences
from penstock.datastore.dynamodb.failures import LOST_ANSWER, NO_CREDENTIALS, error_code
from penstock.datastore.dynamodb.protocol import DynamoDBClient
from penstock.datastore.dynamodb.retry import DEADLINE
from penstock.datastore.dynamodb.safeguards import Safeguards
from penstock.datastore.logged_errors import describe_error

SECONDS = 5.0
"""The time for the answer to the one request."""

NO_SUCH_TABLE = "ResourceNotFoundException"


class TableDiagnosis(NamedTuple):
    """The result of one DescribeTable: the endpoint, the source of the credentials, the answer.

    `no_credentials` says why the credentials cannot be had, and `no_answer` why no answer came.
    `refusal` is DynamoDB's code where it refused, and `date` is the time of the answer by
    DynamoDB's clock.
    """

    endpoint: str | None = None
    credentials: str | None = None
    no_credentials: str | None = None
    no_answer: str | None = None
    refusal: str | None = None
    date: datetime | None = None


async def diagnose_table(
    table: str, region: str | None, endpoint_url: str | None
) -> TableDiagnosis:
    """Request the description of the table once; a failure is part of the result."""
    try:
        credentials = await AioSession().get_credentials()
        source = None if credentials is None else str(credentials.method)
        async with connect(region, endpoint_url, kind="stock") as client:
            diagnosis = TableDiagnosis(client.endpoint_url, source)
            return diagnosis if source is None else await _describe_table(client, table, diagnosis)
    except NO_CREDENTIALS as error:
        return TableDiagnosis(no_credentials=describe_error(error))
    except BotoCoreError as error:
        return TableDiagnosis(no_answer=describe_error(error))


async def table_differences(
    table: str, region: str | None, endpoint_url: str | None
) -> TableDifferences:
    """Describe how the table differs from its definition.

    Raises `errors.RequestRefused` without the permission to describe it.
    """
    async with connect(region, endpoint_url, kind="stock") as client:
        return await TableDefinition(client, table, DEADLINE).differences()


async def table_safeguards(table: str, region: str | None, endpoint_url: str | None) -> Safeguards:
    """Read which safeguards the table has.

    Raises `errors.RequestRefused` without the permission, which servers do not need.
    """
    async with connect(region, endpoint_url, kind="stock") as client:
        return await TableDefinition(client, table, DEADLINE).safeguards()


async def _describe_table(
    client: DynamoDBClient, table: str, diagnosis: TableDiagnosis
) -> TableDiagnosis:
    try:
        async with asyncio.timeout(SECONDS):
            answer = await client.call("DescribeTable", {"TableName": table})
        return diagnosis._replace(date=_answer_date(answer["ResponseMetadata"]))
    except ClientError as error:
        date = _answer_date(error.response["ResponseMetadata"])
        return diagnosis._replace(refusal=error_code(error), date=date)
    except NO_CREDENTIALS as error:
        return diagnosis._replace(no_credentials=describe_error(error))
    except LOST_ANSWER as error:
        return diagnosis._replace(no_answer=describe_error(error))


def _answer_date(metadata: Mapping[str, Mapping[str, str]]) -> datetime | None:
    headers = {name.lower(): value for name, value in metadata["HTTPHeaders"].items()}
    with suppress(ValueError):
        return parsedate_to_datetime(headers.get("date", ""))
    return None
