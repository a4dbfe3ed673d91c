"""Any history of executions and withdrawals keeps what a plain dictionary would hold."""

from dataclasses import dataclass, field
from datetime import datetime, timedelta
from decimal import Context, Decimal, localcontext
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TypeAlias

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from penstock.datastore.clock import Clock
from penstock.datastore.kept_rows.merge_parts import PartMerger
from penstock.datastore.objects.directory import LocalFiles
from penstock.datastore.records import Pipeline
from penstock.datastore.store import Store
from tests.datastore.executions.sample_executions import ANN
from tests.datastore.kept_rows.plants import keep_plants, read_kwh, read_rows, read_sum, run_file
from tests.support.consistency_check import faults
from tests.support.sample_resources import Watch, create_groups
from tests.support.stores import open_table

EXACT = Context(prec=60)
PLANTS = "abcd"
Step: TypeAlias = dict[str, str] | str | None
"""A file with these numbers by plant, the plant whose row is withdrawn, or a merge of files."""

numbers = st.decimals(
    allow_nan=False, allow_infinity=False, min_value=-(10**20), max_value=10**20, places=12
).map("{:f}".format)
files = st.dictionaries(st.sampled_from(PLANTS), numbers, min_size=1)
steps = st.lists(files | st.sampled_from(PLANTS) | st.none(), min_size=1, max_size=8)


@dataclass(slots=True)
class Model:
    """The rows that stand, those that stood after each step, and the versions of each row."""

    present: dict[str, str] = field(default_factory=dict)
    past: list[tuple[datetime, dict[str, str]]] = field(default_factory=list)
    versions: dict[str, list[str]] = field(default_factory=dict)

    def put(self, plant: str, kwh: str) -> None:
        self.present[plant] = kwh
        self.versions.setdefault(plant, []).insert(0, kwh)

    def withdraw(self, plant: str) -> None:
        self.versions[plant].insert(0, f"withdrawn {self.present.pop(plant)}")


async def take_step(store: Store, pipeline: Pipeline, model: Model, step: Step) -> None:
    if step is None:
        await PartMerger(store._system_access(), store.part_files, least=2).merge(pipeline.id)
    elif isinstance(step, dict):
        await run_file(store, pipeline, **step)
        for plant, kwh in step.items():
            model.put(plant, short_text(Decimal(kwh)))
    elif step in model.present:
        await store.open_session(ANN).row_withdrawals.by_keys(pipeline, [[step]], "wrong")
        model.withdraw(step)


def short_text(number: Decimal) -> str:
    return f"{number.normalize(EXACT):f}" if number else "0"


def sum_of(held: dict[str, str]) -> str:
    with localcontext(EXACT):
        return short_text(sum(map(Decimal, held.values()), Decimal(0))) if held else ""


@settings(
    max_examples=12,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
)
@given(steps)
async def test_rows_totals_and_history_are_those_of_a_dictionary(history: list[Step]) -> None:
    with TemporaryDirectory() as folder:
        files = await LocalFiles.open(Path(folder) / "files", base_url="http://x", key=b"k" * 32)
        async with open_table("sqlite", Path(folder)) as table:
            watch, model = Watch(), Model()
            store = Store(table, clock=Clock(watch), files=files)
            await create_groups(store)
            pipeline = await keep_plants(store)
            for step in history:
                await take_step(store, pipeline, model, step)
                model.past.append((watch(), dict(model.present)))
                watch.move(timedelta(seconds=1))
            assert await read_kwh(store, pipeline) == model.present
            for at, held in model.past:
                assert await read_kwh(store, pipeline, as_at=at) == held
                assert await read_sum(store, pipeline, as_at=at) == sum_of(held)
            await check_versions(store, pipeline, model)
            watch.move(timedelta(hours=2))
            await store.sweep_files()
            assert await read_kwh(store, pipeline) == model.present
            assert await faults(table) == []
        await files.close()


async def check_versions(store: Store, pipeline: Pipeline, model: Model) -> None:
    rows = await read_rows(store, pipeline, size=1)
    assert [row.key[0] for row in rows] == sorted(model.present)
    keys = [(pipeline.id, row.digest) for row in rows]
    found = await store.open_session(ANN).kept_rows.many_versions(keys)
    for row, versions in zip(rows, found, strict=True):
        shown = [
            f"{'withdrawn ' if one.withdrawn else ''}{one.values['kwh']:f}" for one in versions
        ]
        assert shown == model.versions[row.key[0]]
