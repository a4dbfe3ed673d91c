"""The report on the system: what it shows administrators of `/`, and nobody else."""

from dataclasses import replace
from datetime import timedelta
from importlib.metadata import version
from typing import Any

import pytest

from penstock.datastore.clock import Clock
from penstock.datastore.executions.workers.registry import WorkerKind
from penstock.datastore.ngsi.intake.in_flight import SinkBacklog
from penstock.datastore.store import Store
from penstock.datastore.store_parts import ShownSetting
from penstock.datastore.table.layout import IMPORT
from penstock.datastore.table.port import Put
from penstock.datastore.table.unfinished_imports import (
    REPEAT_IMPORT,
    UNFINISHED_IMPORT,
    abandon_imports,
)
from tests.datastore.executions.sample_executions import plant_pipeline, ready_execution
from tests.support.graphql_client import Ask, as_caller
from tests.support.sample_resources import Watch

SYSTEM = """{ system { version store executions { waiting running oldestSeconds }
  jobs { unfinished oldestSeconds } sink { events size troubledDestinations }
  problems { check message advice } } }"""
WORKERS = "{ workers { nodes { name } } }"
QUIET: dict[str, Any] = {
    "version": version("penstock"),
    "store": "EMBEDDED",
    "executions": {"waiting": 0, "running": 0, "oldestSeconds": 0.0},
    "jobs": {"unfinished": 0, "oldestSeconds": 0.0},
    "sink": None,
    "problems": [],
}


async def bring_up_to_date(store: Store) -> None:
    """Give a new table the mark of this release, as a server does."""
    await store.upgrade_rows(lambda _step, _page: None)


async def test_of_a_quiet_system_there_is_nothing_to_say(ask: Ask) -> None:
    await bring_up_to_date(ask.store)
    assert (await ask(SYSTEM)).value == QUIET


@pytest.mark.parametrize("roles", ["/usa=admin", "/=contributor", ""])
async def test_only_administrators_of_the_root_see_it(ask: Ask, roles: str) -> None:
    workers = ask.store.workers
    await workers.announce(workers.describe_process("w", WorkerKind.SERVER, 2, "1.2"), 0)
    caller = as_caller("eve", *filter(None, [roles]))
    assert (await ask(SYSTEM, {}, caller)).value is None
    assert (await ask(WORKERS, {}, caller)).value == {"nodes": []}
    assert (await ask(WORKERS)).value == {"nodes": [{"name": "w"}]}


async def test_it_shows_what_the_sink_holds(store: Store) -> None:
    access = replace(store.ngsi_access, backlog=lambda: SinkBacklog(3, 2**40, 1))
    ask = Ask(replace(store, ngsi_access=access))
    await bring_up_to_date(store)
    sink = {"events": 3, "size": 2**40, "troubledDestinations": 1}
    assert (await ask(SYSTEM)).value == {**QUIET, "sink": sink}


async def test_it_shows_the_settings_of_the_server(store: Store) -> None:
    settings = (
        ShownSetting("PENSTOCK_PORT", "9", False),
        ShownSetting("PENSTOCK_BUCKET", None, True),
    )
    ask = Ask(replace(store, settings=settings))
    told = (await ask("{ system { settings { name value isDefault } } }")).value
    assert told["settings"] == [
        {"name": "PENSTOCK_PORT", "value": "9", "isDefault": False},
        {"name": "PENSTOCK_BUCKET", "value": None, "isDefault": True},
    ]


async def test_it_finds_an_import_that_has_not_ended(ask: Ask) -> None:
    await bring_up_to_date(ask.store)
    await ask.store.table.write([Put(IMPORT.item(archive="a"))])
    problem = {"check": "imports", "message": UNFINISHED_IMPORT, "advice": REPEAT_IMPORT}
    assert (await ask(SYSTEM)).value == {**QUIET, "problems": [problem]}
    await abandon_imports(ask.store.table)
    assert (await ask(SYSTEM)).value == QUIET


async def test_it_finds_what_is_stuck_in_the_words_of_the_doctor(store: Store) -> None:
    watch = Watch()
    store = replace(store, clock=Clock(watch))
    await bring_up_to_date(store)
    ready = await ready_execution(store, await plant_pipeline(store))
    ask = Ask(store)
    waiting = {"waiting": 1, "running": 0, "oldestSeconds": 0.0}
    assert (await ask(SYSTEM)).value == {**QUIET, "executions": waiting}
    watch.move(timedelta(minutes=10))
    found = (await ask(SYSTEM)).value
    assert found["executions"] == {**waiting, "oldestSeconds": 600.0}
    (problem,) = found["problems"]
    assert problem["check"] == "executions"
    assert problem["message"].startswith("1 execution waits for a worker: ")
    assert "penstock worker" in problem["advice"]
    assert ready.id not in problem["message"]
