"""Opens what the settings choose: the table behind the store, and the keys that seal cursors."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta
from hashlib import sha256

from datastore.dynamodb import DynamoDBTable
from datastore.resources.scope import Budget
from datastore.s3_files import S3Files
from datastore.sqlite import SqliteTable
from datastore.store import Store
from datastore.table import Table
from schema.cursors import Cursors
from server.settings import Settings

DATABASE = "penstock.db"


@asynccontextmanager
async def open_table(settings: Settings) -> AsyncIterator[Table]:
    """Connect to the chosen table, which need not exist on DynamoDB; close it at the end."""
    if settings.store == "sqlite":
        settings.data_dir.mkdir(parents=True, exist_ok=True)
        table: Table = SqliteTable.open(settings.data_dir / DATABASE)
    else:
        table = await DynamoDBTable.open(
            settings.table, region=settings.region, endpoint_url=settings.endpoint_url
        )
    try:
        yield table
    finally:
        await table.close()


async def bucket_problems(settings: Settings) -> list[str]:
    """Say in sentences why the bucket cannot be used; empty when it can, or none is set."""
    if settings.bucket is None:
        return []
    files = await S3Files.open(
        settings.bucket, region=settings.region, endpoint_url=settings.s3_endpoint_url
    )
    try:
        return list(await files.verify())
    finally:
        await files.close()


def store_over(table: Table, settings: Settings) -> Store:
    budget = Budget(
        units=settings.search_max_units,
        reads=2 * settings.search_max_units,
        rounds=settings.search_max_round_trips,
    )
    return Store(table, budget=budget, longest_api_key=timedelta(days=settings.api_key_max_days))


def cursors_of(settings: Settings) -> Cursors:
    """Seal cursors alike in every process of one installation.

    Cursors carry no authority: a position is only ever looked up within what its caller may see.
    The seal keeps clients from building on their form.
    """
    return Cursors(sha256(f"cursors of {settings.table}".encode()).digest())


def location(settings: Settings) -> str:
    """Where the data lies, for people."""
    if settings.store == "sqlite":
        return str((settings.data_dir / DATABASE).resolve())
    where = settings.endpoint_url or f"AWS {settings.region or '(region of the AWS configuration)'}"
    return f"DynamoDB table {settings.table} at {where}"
