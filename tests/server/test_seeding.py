"""`penstock seed`: the catalogue goes in once, and out again without anything else."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from datastore.access import Caller, Role
from datastore.paths import ROOT, GroupPath
from datastore.sqlite import SqliteTable
from datastore.store import Store
from server.__main__ import run
from server.samples.catalogue import GROUPS, samples
from server.samples.seeding import SEEDER, purge, seed
from tests.asking import Ask, as_caller
from tests.datastore.recount import contents, faults


def nothing() -> None:
    """Progress that nobody watches."""


def seed_by_command(data_dir: Path, capsys: pytest.CaptureFixture[str], *more: str) -> Any:
    assert run(["seed", "--json", "--data-dir", str(data_dir), *more]) == 0
    printed = capsys.readouterr()
    assert printed.err == ""
    return json.loads(printed.out)


def counting(rows: Any) -> Any:
    """The rows without the counts of nothing that groups may carry."""
    return {
        key: {name: value for name, value in row.items() if value != 0} for key, row in rows.items()
    }


async def raw(data_dir: Path) -> Any:
    table = SqliteTable.open(data_dir / "penstock.db")
    try:
        assert await faults(table) == []
        return await contents(table)
    finally:
        await table.close()


def test_seeding_twice_makes_nothing_the_second_time_and_purging_leaves_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert seed_by_command(tmp_path, capsys, "--size", "20") == {"created": 20, "found": 0}
    filled = asyncio.run(raw(tmp_path))
    assert seed_by_command(tmp_path, capsys, "--size", "20") == {"created": 0, "found": 20}
    assert asyncio.run(raw(tmp_path)) == filled
    assert seed_by_command(tmp_path, capsys, "--size", "30") == {"created": 10, "found": 20}
    assert seed_by_command(tmp_path, capsys, "--purge") == {"deleted": 30}
    left = asyncio.run(raw(tmp_path))
    assert [key for key in left if key.sk != "G:/"] == []
    assert seed_by_command(tmp_path, capsys, "--purge") == {"deleted": 0}


def test_purging_an_empty_directory_makes_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["seed", "--purge", "--data-dir", str(tmp_path / "data")]) == 3
    assert capsys.readouterr().out == ""


async def test_what_others_made_stays_when_the_samples_go(store: Store, ask: Ask) -> None:
    uma = as_caller("uma", "/=admin")
    mine = GROUPS[0]
    await store.seen_by(Caller("uma", {ROOT: Role.ADMIN})).groups.create(GroupPath(mine), None)
    await ask.make(mine, "mine", "source=SAP", caller=uma)
    before = await contents(store.table)
    await seed(store, 25, nothing)
    seeded = await ask.names("/", below=True)
    assert len(seeded) == 26
    assert await purge(store, nothing) == 25
    assert counting(await contents(store.table)) == counting(before)
    await ask(
        "mutation($i: DeletePipelineInput!) { deletePipeline(input: $i) { __typename } }",
        {
            "i": {
                "id": (await ask('{ pipelineByName(name: "mine", group: "/usa") { id } }')).value[
                    "id"
                ]
            }
        },
    )
    await seed(store, 3, nothing)
    assert await purge(store, nothing) == 3
    kept = (await ask('{ group(path: "/") { children { nodes { path } } } }')).value
    assert kept["children"]["nodes"] == [{"path": mine}]
    assert await faults(store.table) == []


async def test_calculations_are_seeded_and_call_each_other(store: Store, ask: Ask) -> None:
    await seed(store, 1, nothing)
    calculations = Ask(store, "calculation")
    named = await calculations.names("/", below=True)
    assert named == ["vehicle_emissions", "miles_to_kilometres", "freight_emissions"]
    assert await calculations.names("/usa") == named[:2]
    await seed(store, 1, nothing)
    assert await calculations.names("/", below=True) == named
    await purge(store, nothing)
    assert await calculations.names("/", below=True) == []


def test_the_catalogue_is_the_same_each_time_and_grows_at_its_end() -> None:
    assert list(samples(40))[:10] == list(samples(10))
    names = [sample.content["name"] for sample in samples(500)]
    assert len({*names}) == 500
    assert {sample.group for sample in samples(500)} == {*GROUPS}
    assert list(samples(0)) == []


async def test_the_seeder_may_do_everything_and_is_nobody_else(store: Store, ask: Ask) -> None:
    await seed(store, 1, nothing)
    named = '{ pipelineByName(name: "sap:emissions:pipeline", group: "/usa") { createdBy } }'
    assert (await ask(named)).value == {"createdBy": SEEDER.user_id}
