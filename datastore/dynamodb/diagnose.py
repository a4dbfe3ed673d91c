"""What can be learnt of a table from outside, before anything is asked of its items."""

import asyncio
from collections.abc import Mapping
from contextlib import suppress
from datetime import datetime
from email.utils import parsedate_to_datetime
from typing import NamedTuple

from aiobotocore.session import AioSession
from botocore.exceptions import BotoCoreError, ClientError

from penstock.datastore.dynamodb.client import connect
from penstock.datastore.dynamodb.create_table import Definition, Differences
from penstock.datastore.dynamodb.failures import LOST_ANSWER, code_of
from penstock.datastore.dynamodb.protocol import Client
from penstock.datastore.dynamodb.retry import DEADLINE

SECONDS = 5.0
"""Time for the first answer, which is asked for once."""

NO_SUCH_TABLE = "ResourceNotFoundException"


class Survey(NamedTuple):
    """What one DescribeTable told of where it went and with which credentials, by their source.

    `silence` says why there was no answer. `refusal` is DynamoDB's code where it answered with one,
    and `date` is when it says it answered.
    """

    endpoint: str | None = None
    credentials: str | None = None
    silence: str | None = None
    refusal: str | None = None
    date: datetime | None = None


async def survey(table: str, region: str | None, endpoint_url: str | None) -> Survey:
    """Ask for the description of the table; whatever goes wrong is part of the answer."""
    try:
        credentials = await AioSession().get_credentials()
        source = None if credentials is None else str(credentials.method)
        async with connect(region, endpoint_url, kind="stock") as client:
            asked = Survey(client.endpoint_url, source)
            return asked if source is None else await _described(client, table, asked)
    except BotoCoreError as error:
        return Survey(silence=str(error))


async def differences(table: str, region: str | None, endpoint_url: str | None) -> Differences:
    """Say how the table differs from what is needed; failures.Refused where it may not be known."""
    async with connect(region, endpoint_url, kind="stock") as client:
        return await Definition(client, table, DEADLINE).differences()


async def _described(client: Client, table: str, asked: Survey) -> Survey:
    try:
        async with asyncio.timeout(SECONDS):
            answer = await client.call("DescribeTable", {"TableName": table})
        return asked._replace(date=_date(answer["ResponseMetadata"]))
    except ClientError as error:
        date = _date(error.response["ResponseMetadata"])
        return asked._replace(refusal=code_of(error), date=date)
    except LOST_ANSWER as error:
        return asked._replace(silence=str(error) or type(error).__name__)


def _date(metadata: Mapping[str, Mapping[str, str]]) -> datetime | None:
    headers = {name.lower(): value for name, value in metadata["HTTPHeaders"].items()}
    with suppress(ValueError):
        return parsedate_to_datetime(headers.get("date", ""))
    return None
