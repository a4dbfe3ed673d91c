"""Opens the table, files, buckets and store that the settings choose.

AWS's library is loaded only if it is needed; it would double the start time of a worker.
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta

from penstock.datastore.access.access import Budget
from penstock.datastore.access.open_uploads import UploadLimits
from penstock.datastore.access.vault import NO_VAULT, LocalVault, RenewedVault, Vault
from penstock.datastore.access.work import StoreKind
from penstock.datastore.audio.endpoint_rules import EndpointRules
from penstock.datastore.audio.library import BucketAccess
from penstock.datastore.audio.sources import NO_ROLES, Roles
from penstock.datastore.audio.transcoding.ffmpeg import NO_TRANSCODER, FFmpeg, Transcoder
from penstock.datastore.datasets.index_files import IndexFiles
from penstock.datastore.datasets.limits import CsvLimits
from penstock.datastore.datasets.table_cache import DatasetTableCache
from penstock.datastore.dynamodb.protocol import ClientLimits
from penstock.datastore.executions.records import ExecutionRules
from penstock.datastore.moving.unfinished_restore import require_restored
from penstock.datastore.objects.directory import LocalFiles
from penstock.datastore.objects.no_files import NO_FILES
from penstock.datastore.objects.port import LOCAL_BUCKET, Files
from penstock.datastore.quotas.quotas import Quotas
from penstock.datastore.sqlite.table import SqliteTable
from penstock.datastore.store import Store
from penstock.datastore.table.port import Table
from penstock.datastore.table.schema_marker import GuardedTable
from penstock.datastore.table.unfinished_imports import require_ended_imports
from penstock.server.core.command_output import CommandFailed, ExitCode
from penstock.server.settings.key_files import previous_vault_key, url_key, vault_key
from penstock.server.settings.settings import Settings
from penstock.server.settings.store_settings import DATABASE

FILES = "files"


@asynccontextmanager
async def open_table(settings: Settings) -> AsyncIterator[Table]:
    """Open the chosen table, and close it at the end; on DynamoDB it need not exist.

    Its calls raise TooOld where its rows are of a newer release. Raises UnfinishedRestore for a
    data directory to which a restore was cut short.
    """
    if settings.store == "sqlite":
        require_restored(settings.data_dir)
        settings.data_dir.mkdir(parents=True, exist_ok=True)
        table: Table = SqliteTable.open(settings.data_dir / DATABASE)
    else:
        table = await _open_dynamodb(settings)
    try:
        yield GuardedTable(table)
    finally:
        await table.close()


@asynccontextmanager
async def open_existing_table(settings: Settings) -> AsyncIterator[Table]:
    """Open the chosen table as `open_table` does, but make no file of an embedded one.

    Raises CommandFailed where there is none.
    """
    path = settings.data_dir / DATABASE
    if settings.store == "sqlite" and not path.exists():
        require_restored(settings.data_dir)
        words = f"There is no {path}. --data-dir chooses the folder of a store."
        raise CommandFailed(words, code=ExitCode.STORE)
    async with open_table(settings) as table:
        yield table


@asynccontextmanager
async def open_whole_table(settings: Settings) -> AsyncIterator[Table]:
    """Open the chosen table, which is there, fits, and is not just being filled.

    Raises what `open_existing_table` and `require_usable` do.
    """
    async with open_existing_table(settings) as table:
        await require_usable(table)
        yield table


async def require_usable(table: Table) -> None:
    """Raise CommandFailed if the table does not fit, and UnfinishedImport if it is filled."""
    await require_fitting(table)
    await require_ended_imports(table)


async def require_fitting(table: Table) -> None:
    """Raise CommandFailed if the table is missing, or of another form."""
    if problems := await table.verify():
        raise CommandFailed(*problems, code=ExitCode.STORE)


async def _open_dynamodb(settings: Settings) -> Table:
    from penstock.datastore.dynamodb.table import DynamoDBTable  # noqa: PLC0415 - see the top

    return await DynamoDBTable.open(
        settings.table,
        region=settings.region,
        endpoint_url=settings.endpoint_url,
        deadline=settings.dynamodb_call_seconds,
        kind=settings.dynamodb_client,
        client_limits=ClientLimits(
            settings.dynamodb_connections,
            settings.dynamodb_connect_seconds,
            settings.dynamodb_read_seconds,
        ),
    )


@asynccontextmanager
async def open_files(settings: Settings, url: str | None = None) -> AsyncIterator[Files]:
    """Open the file store: a directory, the bucket, or none without a bucket.

    `url` is the public URL of this server, by default that of the settings. The URLs of files in
    the directory begin with it.
    """
    files = await _open_files(settings, url or server_url(settings, settings.host, settings.port))
    try:
        yield files
    finally:
        await files.close()


async def _open_files(settings: Settings, url: str) -> Files:
    if settings.store == "sqlite":
        directory = settings.data_dir / FILES
        return await LocalFiles.open(directory, base_url=url, key=url_key(settings.data_dir))
    if settings.bucket is None:
        return NO_FILES
    from penstock.datastore.objects.s3 import S3Files  # noqa: PLC0415 - see the top

    return await S3Files.open(
        settings.bucket, region=settings.region, endpoint_url=settings.s3_endpoint_url
    )


@asynccontextmanager
async def open_buckets(settings: Settings) -> AsyncIterator[BucketAccess]:
    """Open the access to users' own buckets: a vault for keys, and IAM roles if enabled."""
    vault, roles = await _open_vault(settings), await _open_roles(settings)
    rules = EndpointRules(private=settings.private_endpoints)
    buckets = BucketAccess(vault, roles, rules)
    try:
        yield buckets
    finally:
        await buckets.pool.close()
        await roles.close()
        await vault.close()


async def _open_vault(settings: Settings) -> Vault:
    current, previous = await _open_vaults(settings)
    return current if previous is None else RenewedVault(current, previous)


async def _open_vaults(settings: Settings) -> tuple[Vault, Vault | None]:
    """Open the vault of the key, and that of the key before if there is one."""
    if settings.store == "sqlite":
        before = previous_vault_key(settings.data_dir)
        current = LocalVault(vault_key(settings.data_dir))
        return current, None if before is None else LocalVault(before)
    if settings.kms_key is None:
        return NO_VAULT, None
    from penstock.datastore.access.kms_vault import KmsVault  # noqa: PLC0415 - see the top

    current_kms = await KmsVault.open_with(settings.kms_key, region=settings.region)
    if settings.previous_kms_key is None:
        return current_kms, None
    key = settings.previous_kms_key
    return current_kms, await KmsVault.open_with(key, region=settings.region)


async def _open_roles(settings: Settings) -> Roles:
    if settings.store == "sqlite" or not settings.assume_roles:
        return NO_ROLES
    from penstock.datastore.audio.assumed_roles import StsRoles  # noqa: PLC0415 - see the top

    return await StsRoles.open(region=settings.region)


def server_url(settings: Settings, host: str, port: int) -> str:
    """Return the public URL of a server that listens at this address."""
    if settings.public_url is not None:
        return settings.public_url
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def build_store(
    table: Table, settings: Settings, files: Files = NO_FILES, buckets: BucketAccess | None = None
) -> Store:
    budget = Budget(
        units=settings.search_max_units,
        reads=2 * settings.search_max_units,
        rounds=settings.search_max_round_trips,
    )
    longest = timedelta(days=settings.api_key_max_days)
    return Store(
        table,
        files=files,
        bucket_name=bucket_of(settings),
        user_buckets=buckets or BucketAccess(),
        transcoder=_transcoder(settings),
        dataset_cache=DatasetTableCache(
            settings.dataset_cache_bytes, IndexFiles(settings.dataset_index_cache_bytes)
        ),
        dataset_limits=CsvLimits(
            settings.max_dataset_bytes, settings.max_dataset_rows, settings.max_dataset_fields
        ),
        list_budget=budget,
        upload_limits=UploadLimits(settings.max_open_uploads, settings.max_open_uploads_of_group),
        longest_api_key=longest,
        execution_rules=ExecutionRules(retention=timedelta(days=settings.keep_executions_days)),
        shards=settings.counter_shards,
        quotas=Quotas(settings.quota_rules),
        keep_history=timedelta(days=settings.keep_history_days),
        kind=StoreKind(settings.store),
    )


def _transcoder(settings: Settings) -> Transcoder:
    if settings.ffmpeg is None:
        return NO_TRANSCODER
    return FFmpeg(settings.ffmpeg, settings.ffmpeg_processes)


def bucket_of(settings: Settings) -> str | None:
    """Return the bucket name by which folders like `s3://penstock/...` mean our own files."""
    return settings.bucket or (LOCAL_BUCKET if settings.store == "sqlite" else None)


def data_location(settings: Settings) -> str:
    """Return a readable location of the data."""
    if settings.store == "sqlite":
        return str((settings.data_dir / DATABASE).resolve())
    where = settings.endpoint_url or f"AWS {settings.region or '(region of the AWS configuration)'}"
    return f"DynamoDB table {settings.table} at {where}"
