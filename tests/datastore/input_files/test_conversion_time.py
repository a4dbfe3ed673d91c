"""The processor time of a conversion is paid and bounded, and shared between users."""

import asyncio
import gzip
import threading
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.datastore.access import work_debts
from penstock.datastore.executions.files import output_key, table_key
from penstock.datastore.input_files import conversion_limits, convert, excel, text
from penstock.datastore.input_files.conversion_limits import ConversionLimits
from penstock.datastore.input_files.convert import InputConversion
from penstock.datastore.input_files.converter import Converter
from penstock.datastore.input_files.excel import read_sheet
from penstock.datastore.input_files.kinds import InputKind
from penstock.datastore.input_files.write_table import ConversionOrder, ConvertedInput
from penstock.datastore.periodic import cancel_tasks
from penstock.datastore.records import Pipeline
from penstock.datastore.store import Store
from penstock.transform.problems import InputRefused
from tests.datastore.executions.sample_executions import finished_execution, read_content
from tests.datastore.input_files.test_input_files import (
    PARQUET,
    TEXT,
    archive,
    excel_data,
    parquet_file,
    write,
)
from tests.datastore.kept_rows.plants import read_kwh
from tests.datastore.objects.conftest import stream
from tests.support.consistency_check import faults
from tests.support.patience import until
from tests.support.sample_resources import on_sqlite

of_each_kind = pytest.mark.parametrize(
    "make",
    [
        lambda: gzip.compress(TEXT.encode()),
        lambda: TEXT.encode("utf-16"),
        excel_data,
        lambda: parquet_file(PARQUET),
    ],
    ids=["gzip", "UTF-16", "Excel", "Parquet"],
)
Charges = list[tuple[str, int]]
TIMES = ", ".join(f"now() AS t{n}" for n in range(6))
LONG = f"SELECT range AS plant, {TIMES} FROM range(1000000)"
"""A file that takes some 3 seconds of processor time."""


async def take_debts(store: Store) -> Charges:
    """Charge the debts of users for the time of workers, as a server does."""
    charges: Charges = []
    await store.work_debts.take_all(lambda user, units: charges.append((user, units)))
    return charges


@of_each_kind
@on_sqlite
async def test_the_creator_owes_the_processor_time_beyond_what_the_size_paid(
    store: Store, pipeline: Pipeline, make: Callable[[], bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    seconds: list[float] = []
    data = make()
    monkeypatch.setattr(convert, "packed_units", lambda size: size)

    for beyond in (1_000, 0):

        def units_beyond_size(taken: float, beyond: int = beyond) -> int:
            seconds.append(taken)
            return len(data) + beyond

        monkeypatch.setattr(work_debts, "worker_units", units_beyond_size)
        over = await finished_execution(store, pipeline, data)
        assert over.state == "success"
    assert await take_debts(store) == [("ann", 1_000)]
    assert min(seconds) > 0


@on_sqlite
async def test_csv_owes_nothing(store: Store, pipeline: Pipeline) -> None:
    over = await finished_execution(store, pipeline, TEXT.encode())
    assert (over.state, await take_debts(store)) == ("success", [])


@on_sqlite
async def test_a_conversion_that_takes_too_long_fails_and_is_paid(
    store: Store, pipeline: Pipeline, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(conversion_limits, "FREE_SECONDS", 1)
    monkeypatch.setattr(conversion_limits, "BYTES_A_SECOND", 10**9)
    monkeypatch.setattr(convert, "packed_units", lambda _: 0)
    over = await finished_execution(store, pipeline, parquet_file(LONG))
    assert (over.state, over.code, over.rows) == ("failed", "CONVERSION_TOO_LONG", 0)
    assert "more than 1 seconds of processor time; send it as CSV" in (over.message or "")
    ((user, units),) = await take_debts(store)
    assert (user, units > 2_500) == ("ann", True)
    assert await read_content(store.files, table_key(over)) is None
    assert await read_content(store.files, output_key(over)) is None
    assert await read_kwh(store, pipeline) == {}
    assert await faults(store.table) == []


@pytest.mark.parametrize(
    ("size", "seconds"), [(0, 60), (200_000, 61), (20_000_000, 160), (10**10, 900)]
)
def test_a_larger_file_may_take_longer(size: int, seconds: int) -> None:
    assert ConversionLimits.of_size(size, 1_000).seconds == seconds


@on_sqlite
async def test_what_a_conversion_takes_is_owed_while_it_runs(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(work_debts, "CHARGE_SECONDS", 0.01)
    monkeypatch.setattr(convert, "packed_units", lambda _: 0)
    data = parquet_file(LONG)
    await store.files.write("in", stream(data), content_type="text/csv")
    conversion = InputConversion(store.files, 10**9, store.work_debts)
    converting = asyncio.create_task(conversion.convert("in", "out", "eve", len(data)))
    debts = list[Charges]()

    async def is_charged() -> bool:
        debts.append(await take_debts(store))
        return bool(debts[-1])

    # A process that is killed here leaves the debt to the next server.
    await until(is_charged)
    assert not converting.done()
    await cancel_tasks([converting])
    ((user, units),) = debts[-1]
    assert (user, units > 0) == ("eve", True)
    assert await read_content(store.files, "out") is None


@on_sqlite
async def test_one_user_leaves_a_thread_to_others(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun, end = threading.Semaphore(0), threading.Event()

    def wait(converter: Converter, order: ConversionOrder) -> ConvertedInput:
        if order.kind is InputKind.EXCEL:
            begun.release()
            end.wait()
        return convert_file(converter, order)

    convert_file = Converter.convert
    monkeypatch.setattr(Converter, "convert", wait)
    book, packed = excel_data(), gzip.compress(b"a\n1\n")
    await store.files.write("in", stream(book), content_type="text/csv")
    await store.files.write("gz", stream(packed), content_type="text/csv")
    conversion = InputConversion(store.files, 1_000, store.work_debts)
    held = [
        asyncio.create_task(conversion.convert("in", f"out{n}", "eve", len(book))) for n in range(2)
    ]
    try:
        await until(lambda: begun.acquire(blocking=False))
        assert await conversion.convert("gz", "out", "nora", len(packed)) is not None
        assert not begun.acquire(blocking=False)
    finally:
        end.set()
        await asyncio.gather(*held)


def test_an_archive_of_very_many_parts_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(excel, "MOST_PARTS", 3)
    path = write(tmp_path / "a.xlsx", archive(a=b"", b=b"", c=b"", d=b""))
    with pytest.raises(InputRefused, match="more than 3 parts"):
        read_sheet(path)
    monkeypatch.setattr(excel, "ZipFile", never_opened)
    with pytest.raises(InputRefused, match="more than 3 parts"):
        read_sheet(path)
    monkeypatch.setattr(excel, "FILE_BYTES", 10)
    with pytest.raises(InputRefused, match="more than 10 bytes"):
        read_sheet(path)


@given(before=st.binary(max_size=40), gaps=st.lists(st.binary(max_size=9), max_size=5))
def test_parts_are_counted_across_the_pieces_of_a_file(before: bytes, gaps: list[bytes]) -> None:
    data = b"".join([before, *(excel._PART + gap for gap in gaps)])
    with TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        path = write(Path(folder) / "a.xlsx", data)
        patch.setattr(text, "CHUNK", 5)
        patch.setattr(excel, "MOST_PARTS", data.count(excel._PART))
        excel._require_few_parts(path)
        patch.setattr(excel, "MOST_PARTS", data.count(excel._PART) - 1)
        with pytest.raises(ValueError, match="parts"):
            excel._require_few_parts(path)


def never_opened(_: Path) -> None:
    raise AssertionError
