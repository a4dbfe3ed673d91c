"""The first start of a server: an empty store gets the sample data that it has room for."""

import logging
from pathlib import Path

import pytest

from penstock.datastore.quota_kinds import QuotaKind
from penstock.server.runtime.run_server import prepare_store
from penstock.server.runtime.stores import build_store, open_files, open_table
from penstock.server.samples.seeding import SEEDER
from penstock.server.settings.settings import Settings


async def count_resources(settings: Settings) -> int:
    async with open_table(settings) as table, open_files(settings) as files:
        session = build_store(table, settings, files).open_session(SEEDER)
        (resources,) = [
            each for each in await session.quotas.of_caller() if each.kind is QuotaKind.RESOURCES
        ]
        return resources.used


async def test_a_quota_smaller_than_the_sample_data_leaves_a_part_out(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    settings = Settings.load(data_dir=tmp_path, quota_resources_of_user=30)
    with caplog.at_level(logging.WARNING):
        await prepare_store(settings, "http://127.0.0.1:1")
    (line,) = [record.getMessage() for record in caplog.records]
    assert line.startswith("a part of the sample data is left out, because of a quota: ")
    assert await count_resources(settings) == 30
