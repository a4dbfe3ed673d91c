"""The filled stores of the benchmark: an embedded one, and one in an emulator of DynamoDB."""

import asyncio
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Final, NamedTuple
from uuid import uuid4

import boto3

from benchmarks.product.executions import add_executions
from benchmarks.product.operations import GROUPS, Subjects
from penstock.datastore.executions.lists.group_listing import GroupExecutions
from penstock.datastore.resources.reading import ListRequest
from penstock.datastore.roles import GroupPath
from penstock.datastore.session import Session
from penstock.datastore.table.pages import Window
from penstock.server.runtime.stores import build_store, open_files, open_table
from penstock.server.samples.seeding import SEEDER
from penstock.server.settings.settings import Settings
from tests.support.penstock_command import start_command
from tests.support.stores import REGION, dynoxide_endpoint, moto_endpoint

EMBEDDED: Final = "embedded"
DYNAMODB: Final = "dynamodb"
_EXECUTIONS: Final = 10_000
_SUBJECTS: Final = 100
_KEPT: Final = Path(__file__).parents[2] / ".build" / "product"


class FilledStore(NamedTuple):
    """A filled store: its settings, its folder, and what the operations ask for."""

    settings: Mapping[str, str]
    data_dir: Path
    subjects: Subjects

    def load_settings(self) -> Settings:
        named = {key.removeprefix("PENSTOCK_").lower(): one for key, one in self.settings.items()}
        return Settings.load(data_dir=self.data_dir, **named)


def fill_store(name: str, pipelines: int, folder: Path) -> FilledStore:
    """Fill a store with the sample catalogue of this size, and with executions.

    An embedded store is kept in `.build/` and copied from there the next time.
    """
    data_dir = folder / f"{name}-{pipelines}"
    if name == DYNAMODB:
        settings = _emulated_settings()
        _run("table", "create", **settings)
        return _fill(FilledStore(settings, data_dir, Subjects((), ())), pipelines)
    kept = _KEPT / f"{pipelines}"
    if not kept.exists():
        begun = kept.with_name(f"{kept.name}.begun")
        shutil.rmtree(begun, ignore_errors=True)
        _fill(FilledStore({}, begun, Subjects((), ())), pipelines)
        begun.rename(kept)
    made = FilledStore({}, kept, Subjects((), ()))
    shutil.copytree(kept, data_dir)
    return made._replace(data_dir=data_dir, subjects=asyncio.run(_prepare(made, executions=0)))


def _emulated_settings() -> dict[str, str]:
    """A table and a bucket of their own."""
    bucket = f"penstock-{uuid4()}"
    client = boto3.client("s3", endpoint_url=moto_endpoint(), region_name=REGION)
    client.create_bucket(Bucket=bucket)
    return {
        "PENSTOCK_STORE": "dynamodb",
        "PENSTOCK_TABLE": f"penstock-{uuid4()}",
        "PENSTOCK_REGION": REGION,
        "PENSTOCK_ENDPOINT_URL": dynoxide_endpoint(),
        "PENSTOCK_BUCKET": bucket,
        "PENSTOCK_S3_ENDPOINT_URL": moto_endpoint(),
    }


def _fill(empty: FilledStore, pipelines: int) -> FilledStore:
    _run("seed", "--data-dir", str(empty.data_dir), "--size", str(pipelines), **empty.settings)
    executions = min(_EXECUTIONS, pipelines)
    return empty._replace(subjects=asyncio.run(_prepare(empty, executions)))


def _run(*arguments: str, **settings: str) -> None:
    done = start_command(*arguments, **settings).finish(None)
    if done.returncode:
        raise RuntimeError(f"penstock {' '.join(arguments)}: {done.stderr}")


async def _prepare(filled: FilledStore, executions: int) -> Subjects:
    """Add executions, and read some ids of both kinds."""
    settings = filled.load_settings()
    async with open_table(settings) as table, open_files(settings) as files:
        store = build_store(table, settings, files)
        session = store.open_session(SEEDER)
        pipelines = await _read_pipelines(session)
        if executions:
            await add_executions(store, session, pipelines, executions)
        return Subjects(pipelines, await _read_executions(session))


async def _read_pipelines(session: Session) -> list[str]:
    found = []
    for group in GROUPS:
        wanted = ListRequest(group=GroupPath(group), include_child_groups=True)
        page = await session.pipelines.listing.page(wanted, Window(size=_SUBJECTS))
        found += [one.id for _, one in page.entries]
    return sorted(set(found))


async def _read_executions(session: Session) -> list[str]:
    found = []
    for group in GROUPS:
        wanted = GroupExecutions(group=GroupPath(group), include_child_groups=True)
        page = await session.executions.of_groups.page(wanted, Window(size=_SUBJECTS))
        found += [one.id for _, one in page.entries]
    return sorted(set(found))
