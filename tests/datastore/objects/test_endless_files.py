"""No reader of a whole file follows a store that sends it without end."""

import ast
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Final, cast

import pytest

import penstock.datastore
import penstock.server
from penstock.datastore.clock import Clock
from penstock.datastore.datasets.table_cache import DamagedFile, DatasetTableCache
from penstock.datastore.errors import Unavailable
from penstock.datastore.executions.create import ExecutionRequest
from penstock.datastore.executions.files import errors_key, input_key
from penstock.datastore.executions.records import OutputFormat
from penstock.datastore.executions.workers.row_engine import RowTask
from penstock.datastore.jobs.jobs import JobState
from penstock.datastore.kept_rows.engine import RowsEngine
from penstock.datastore.kept_rows.merged_files import place_parts
from penstock.datastore.kept_rows.part_files import DamagedRows, PartFiles, copy_parts
from penstock.datastore.kept_rows.part_list import read_parts
from penstock.datastore.kept_rows.records import MergedFile
from penstock.datastore.moving.archive import Archive
from penstock.datastore.moving.export import COPY_ATTEMPTS, Export
from penstock.datastore.ngsi import events
from penstock.datastore.ngsi.events import LineFiles
from penstock.datastore.ngsi.rows import Event
from penstock.datastore.objects.chunks import WrongSize
from penstock.datastore.objects.port import Chunks, Files
from penstock.datastore.store import Store
from penstock.server.runtime import core_engine
from tests.datastore.dataset_loads.sample_loads import begin_load, index_always, loaded_dataset
from tests.datastore.dataset_loads.test_loads import job_of
from tests.datastore.datasets.sample_datasets import lookup_dataset
from tests.datastore.executions.conftest import files, store
from tests.datastore.executions.sample_executions import (
    ANN,
    TRIPS,
    current_execution,
    finished_execution,
    pipeline_in,
    plant_pipeline,
    put_file,
    ready_execution,
)
from tests.datastore.executions.test_dataset_output import writing_pipeline
from tests.datastore.kept_rows.plants import keep_plants, plant_file, run_file
from tests.datastore.moving.furnished_store import ignore_progress, open_empty
from tests.support.sample_resources import USA, create_groups, on_sqlite

__all__ = ["files", "index_always", "store"]

BLOCK: Final = 16 * 1024
BOUND: Final = 4 * BLOCK
"""More than any file of these tests has."""

OTHER_SIZE: Final = "The store of files gives a file of another size than the one it took."


@dataclass(slots=True)
class EndlessFiles:
    """A store whose files of these keys never end, unless a range ends; `given` are its bytes."""

    files: Files
    is_endless: Callable[[str], bool] = lambda _: True
    given: int = 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self.files, name)

    async def read(self, key: str, *, start: int = 0, end: int | None = None) -> Chunks:
        if not self.is_endless(key):
            async for chunk in self.files.read(key, start=start, end=end):
                yield chunk
            return
        while end is None or start < end:
            size = BLOCK if end is None else min(BLOCK, end - start)
            start, self.given = start + size, self.given + size
            assert self.given <= BOUND, f"{key} is read without end"
            yield bytes(size)


def endless(store: Store) -> Files:
    return cast("Files", EndlessFiles(store.files))


async def read_table(store: Store, _: Path) -> None:
    made = await lookup_dataset(await create_groups(store), USA, "fuels", gas="2")
    await DatasetTableCache().rows(endless(store), made)


async def read_table_for_processes(store: Store, _: Path) -> None:
    made = await lookup_dataset(await create_groups(store), USA, "fuels", gas="2")
    await core_engine._make_table(endless(store), cast("RowTask", SimpleNamespace(data={})), made)


async def read_rows(store: Store, _: Path) -> None:
    await create_groups(store)
    pipeline = await keep_plants(store)
    await run_file(store, pipeline, a=1)
    async with PartFiles(RowsEngine()).open(
        endless(store), await read_parts(store.table, pipeline.id)
    ):
        pass


async def read_merged_rows(store: Store, folder: Path) -> None:
    await create_groups(store)
    pipeline = await keep_plants(store)
    await run_file(store, pipeline, a=1)
    parts = await read_parts(store.table, pipeline.id)
    wide = MergedFile(first=1, last=2, file=parts[0].file, size=2 * parts[0].size)
    await copy_parts(endless(store), place_parts(parts, [wide]), folder)


async def read_results(store: Store, _: Path) -> None:
    pipeline = await plant_pipeline(store)
    rows = [{"distance": 1, "fuel": "gas"}]
    inline = store.open_session(ANN).executions.inline
    made = await inline.run(ExecutionRequest(pipeline_id=pipeline.id), rows)
    session = replace(store, files=endless(store)).open_session(ANN)
    await session.executions.inline_output.one(made)


async def explain_row(store: Store, key_of: Callable[[Any], str]) -> None:
    made = await finished_execution(store, await plant_pipeline(store))
    wrong = EndlessFiles(store.files, lambda key: key == key_of(made))
    session = replace(store, files=cast("Files", wrong)).open_session(ANN)
    await session.executions.explaining.of_output(made, 1)


async def explain_by_input(store: Store, _: Path) -> None:
    await explain_row(store, input_key)


async def explain_by_rejected(store: Store, _: Path) -> None:
    await explain_row(store, errors_key)


async def read_lines(store: Store, _: Path) -> None:
    await LineFiles.of(endless(store), Event).read("ngsi/a")


READERS: Final[dict[Callable[[Store, Path], Awaitable[None]], type[Exception]]] = {
    read_table: DamagedFile,
    read_table_for_processes: WrongSize,
    read_rows: DamagedRows,
    read_merged_rows: DamagedRows,
    read_results: WrongSize,
    explain_by_input: WrongSize,
    explain_by_rejected: WrongSize,
    read_lines: WrongSize,
}


@on_sqlite
@pytest.mark.parametrize("reader", READERS, ids=lambda reader: reader.__name__)
async def test_a_file_without_end_is_read_up_to_its_size(
    store: Store,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    reader: Callable[[Store, Path], Awaitable[None]],
) -> None:
    monkeypatch.setattr(events, "MOST_PACKED", BLOCK)
    with pytest.raises(READERS[reader]):
        await reader(store, tmp_path / "copies")


@on_sqlite
@pytest.mark.usefixtures("index_always")
async def test_an_index_without_end_is_read_up_to_its_size(store: Store) -> None:
    made = await loaded_dataset(await create_groups(store), store)
    assert made.content.index_bytes < BOUND
    with pytest.raises(DamagedFile):
        await DatasetTableCache().rows(endless(store), made)


@on_sqlite
async def test_an_upload_without_end_is_loaded_later(store: Store) -> None:
    session = await create_groups(store)
    dataset = await lookup_dataset(session, USA, "fuels", gas="2")
    job = await begin_load(session, store, dataset, b"k,v\ngas,3\n")
    wrong = EndlessFiles(store.files)
    await replace(store, files=cast("Files", wrong)).run_jobs("w")
    assert wrong.given == BLOCK
    assert (await job_of(session, job)).state is JobState.RUNNING
    assert (await session.datasets.reading.one(dataset.id)).version == 1


async def sink_pipeline(store: Store) -> Any:
    return (await writing_pipeline(store))[0]


async def rows_pipeline(store: Store) -> Any:
    await create_groups(store)
    return await keep_plants(store)


async def parquet_pipeline(store: Store) -> Any:
    await create_groups(store)
    return await pipeline_in(store, transformer=TRIPS)


@on_sqlite
@pytest.mark.parametrize(
    ("make", "data", "form"),
    [
        (sink_pipeline, b"fuel,kg\ngas,2\n", OutputFormat.CSV),
        (rows_pipeline, plant_file([("a", 1)]), OutputFormat.CSV),
        (parquet_pipeline, b"distance,Fuel type\n1,gas\n", OutputFormat.PARQUET),
    ],
)
async def test_an_output_without_end_is_made_again_later(
    store: Store, make: Callable[[Store], Awaitable[Any]], data: bytes, form: OutputFormat
) -> None:
    made = await ready_execution(store, await make(store), data, output_format=form)
    wrong = EndlessFiles(store.files, lambda key: "output" in key)
    await replace(store, files=cast("Files", wrong)).execution_worker("w").run_all()
    waiting = await current_execution(store, made)
    assert wrong.given == BLOCK
    assert (waiting.state, waiting.attempts) == ("in_progress", 1)
    assert waiting.message == f"The last attempt failed: {OTHER_SIZE}"


@on_sqlite
async def test_an_export_does_not_follow_a_file_without_end(store: Store, tmp_path: Path) -> None:
    await put_file(store.files, "a", b"1")
    wrong = EndlessFiles(store.files)
    async with open_empty("sqlite", tmp_path) as moved:
        endless_store = replace(moved, files=cast("Files", wrong))
        export = Export(endless_store, Archive(tmp_path / "archive"), Clock(), ignore_progress)
        with pytest.raises(Unavailable, match="replaced again and again"):
            await export.run()
    assert wrong.given == COPY_ATTEMPTS * BLOCK


BOUNDS: Final = {"limit_size", "read_bounded", "read_exactly", "require_size"}
OTHERS: Final = {"has_intake"}
"""Arguments of readers with the same name that are no files themselves."""


def unbounded_reads(path: Path, text: str) -> Iterator[str]:
    """Yield the places where a whole file of a store is read without one of the bounds."""
    calls = [node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Call)]
    bounded = {
        id(argument)
        for call in calls
        if isinstance(call.func, ast.Name) and call.func.id in BOUNDS
        for argument in call.args
    }
    for call in calls:
        is_read = ast.unparse(call.func).split(".")[-2:] in (["files", "read"], ["_files", "read"])
        ends = {keyword.arg for keyword in call.keywords} & {"end", *OTHERS}
        if is_read and not ends and id(call) not in bounded:
            yield f"{path.name}:{call.lineno}"


def test_every_read_of_a_file_has_a_bound() -> None:
    packages = (penstock.datastore, penstock.server)
    found = (path for one in packages for path in Path(str(one.__file__)).parent.rglob("*.py"))
    texts = {path: text for path in found if "files.read(" in (text := path.read_text())}
    assert len(texts) > 20
    assert [place for path in texts for place in unbounded_reads(path, texts[path])] == []
