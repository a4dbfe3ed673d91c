"""The row engine of a worker, as the settings choose it."""

from pathlib import Path

import pytest

from penstock.datastore.executions.workers.row_engine import LOCAL_ENGINE
from penstock.server.core.command_output import CommandFailed, ExitCode
from penstock.server.runtime import worker
from penstock.server.runtime.core_engine import CoreEngine
from penstock.server.runtime.stores import build_store, open_table
from penstock.server.runtime.worker import count_cores, row_engine_of
from penstock.server.runtime.worker_pool import run_workers
from penstock.server.settings.invalid_settings import InvalidSettings
from penstock.server.settings.settings import Settings


def test_without_a_cluster_rows_are_worked_on_by_the_cores_of_this_machine() -> None:
    assert row_engine_of(Settings.load(execution_cores=1)) is LOCAL_ENGINE
    assert row_engine_of(Settings.load(execution_cores=3)) == CoreEngine(3)
    own = count_cores()
    assert row_engine_of(Settings.load()) == (CoreEngine(own) if own > 1 else LOCAL_ENGINE)


def test_a_cluster_is_reached_at_its_address() -> None:
    pytest.importorskip("distributed", reason="penstock[dask]")
    found = row_engine_of(Settings.load(dask="tcp://scheduler:8786"))
    assert getattr(found, "address", None) == "tcp://scheduler:8786"


@pytest.mark.parametrize(
    "address", ["scheduler:8786", "tcp://scheduler", "http://x:1", "tcp://a b:1"]
)
def test_what_is_no_address_of_a_scheduler_is_refused(address: str) -> None:
    with pytest.raises(InvalidSettings, match="PENSTOCK_DASK"):
        Settings.load(dask=address)


def test_without_the_extra_the_worker_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(worker, "find_spec", lambda _: None)
    with pytest.raises(CommandFailed, match="with its extra `dask`") as failed:
        row_engine_of(Settings.load(dask="tcp://scheduler:8786"))
    assert failed.value.code is ExitCode.USAGE


async def test_without_the_extra_a_server_does_not_start_to_run_executions(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(worker, "find_spec", lambda _: None)
    settings = Settings.load(dask="tcp://scheduler:8786", data_dir=tmp_path)
    async with open_table(settings) as table:
        with pytest.raises(CommandFailed, match="distributed is not installed"):
            async with run_workers(build_store(table, settings), settings):
                raise AssertionError("nothing may run")
