"""Callers pay for calls of the server's own bucket, whichever call of theirs makes them."""

from asyncio import gather
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path

import pytest

from penstock.datastore.access.bucket_payments import FILE_PRICES, meter_files
from penstock.datastore.access.work import StoreKind
from penstock.datastore.audio.artwork.cover_sizes import SizedCover
from penstock.datastore.datasets.files import upload_key
from penstock.datastore.errors import RateLimited
from penstock.datastore.executions.files import ingest_key
from penstock.datastore.objects.instrumentation import InstrumentedFiles
from penstock.datastore.objects.lasting_copies import run_lasting
from penstock.datastore.objects.metered_files import on_credit
from penstock.datastore.objects.port import Files
from penstock.datastore.records import DatasetColumn, ValueType
from penstock.datastore.session import Session
from penstock.datastore.store import Store
from penstock.datastore.table.instrumentation import StoreCall, Units
from penstock.datastore.table.port import Table
from tests.datastore.audio.sample_uploads import (
    TAGS,
    open_files,
    put,
    single_chunk,
    sound,
)
from tests.datastore.executions.sample_executions import (
    ANN,
    INPUT,
    begin_execution,
    pipeline_in,
    put_file,
)
from tests.support.sample_resources import USA, create_groups, on_sqlite
from tests.support.work_account import Account

BOTH_FILES = pytest.mark.parametrize("files", ["local", "s3"], indirect=True)
BOTH_KINDS = pytest.mark.parametrize("kind", StoreKind)
CHANGES = {"upload", "copy", "delete"}
Act = Callable[[Session], Awaitable[None]]


@pytest.fixture
async def files(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Files]:
    async with open_files(getattr(request, "param", "local"), tmp_path) as opened:
        yield opened


async def write(files: Files, key: str, size: int = 1) -> None:
    await files.write(key, single_chunk(b"x" * size), content_type="text/plain")


async def drain(files: Files, key: str) -> None:
    async for _ in files.read(key):
        pass


@BOTH_KINDS
@BOTH_FILES
async def test_each_call_of_the_bucket_has_its_price(files: Files, kind: StoreKind) -> None:
    look, change, written, sign, *_ = FILE_PRICES[kind]
    for n in range(50):
        await write(files, f"l/{n}", 640 if n else 640_000)
    priced: list[tuple[Callable[[Files], Awaitable[object]], int]] = [
        (lambda own: own.stat("l/1"), look),
        (lambda own: own.stat("l/none"), look),
        (lambda own: drain(own, "l/1"), look),
        (lambda own: drain(own, "l/0"), look + 10),
        (lambda own: own.list("l/", limit=1), look),
        (lambda own: own.list("l/"), look + 50 // FILE_PRICES[kind].listed_keys),
        (lambda own: own.list_entries("l/"), look + 50 // FILE_PRICES[kind].listed_keys),
        (lambda own: own.list_folders(""), look),
        (lambda own: own.copy("l/1", "m/1"), change),
        (lambda own: write(own, "m/2"), written),
        (lambda own: write(own, "m/2", 160_000), written + 10),
        (lambda own: own.delete("m/2"), change),
        (lambda own: own.refuse_uploads("m/2"), change if files.ends_forms else 0),
        (lambda own: own.presign_download("l/1", expires_in=60), sign),
        (
            lambda own: own.presign_upload(
                "l/1", max_bytes=1, content_type="text/plain", expires_in=60
            ),
            sign,
        ),
    ]
    for call, price in priced:
        account = Account()
        await call(meter_files(files, kind, account, Units()))
        assert account.taken + account.owed == price


@BOTH_KINDS
async def test_a_caller_in_debt_begins_no_call_and_changes_nothing(
    files: Files, kind: StoreKind
) -> None:
    await write(files, "a/1")
    before = await files.list_entries("")
    own = meter_files(files, kind, account := Account(most=1), used := Units())
    for call in (
        own.stat("a/1"),
        drain(own, "a/1"),
        own.list("a/"),
        own.copy("a/1", "a/2"),
        write(own, "a/1", 2),
        own.delete("a/1"),
    ):
        with pytest.raises(RateLimited):
            await call
    assert await files.list_entries("") == before
    assert (account.taken, account.owed, used.has_changed) == (0, 0, False)


@BOTH_KINDS
async def test_what_follows_a_change_is_owed_and_never_refused(
    files: Files, kind: StoreKind
) -> None:
    look, change, *_ = FILE_PRICES[kind]
    await write(files, "a/1")
    own = meter_files(files, kind, account := Account(most=change), used := Units())
    await own.copy("a/1", "a/2")
    await own.stat("a/2")
    await own.delete("a/1")
    assert (account.taken, account.owed, used.file_changes) == (change, look + change, 2)
    after_write = meter_files(files, kind, account := Account(most=0), Units(wcu=1.0))
    await after_write.stat("a/2")
    assert (account.taken, account.owed) == (0, look)


async def test_a_read_that_callers_share_is_owed_by_the_first_and_refused_to_nobody(
    files: Files,
) -> None:
    await write(files, "a/1")
    poor, rich = Account(most=0), Account()
    own = meter_files(files, StoreKind.DYNAMODB, poor, Units())
    await on_credit(own).copy("a/1", "a/2")
    assert (poor.taken, poor.owed) == (0, FILE_PRICES[StoreKind.DYNAMODB].change)
    begun = list[int]()

    async def work() -> None:
        begun.append(1)

    others = meter_files(files, StoreKind.DYNAMODB, rich, Units())
    await gather(*(run_lasting(each, "t", work) for each in (own, others, files)))
    assert begun == [1]


async def register(store: Store) -> Act:
    key = await put(store.open_session(ANN).audio, "a.mp3", sound("mp3", 1, TAGS))

    async def act(session: Session) -> None:
        await session.audio.registering.register(key)

    return act


async def confirm(store: Store) -> Act:
    execution = await begin_execution(store, await pipeline_in(store))
    await put_file(store.files, ingest_key(execution), INPUT)

    async def act(session: Session) -> None:
        await session.executions.uploads.confirm(execution.id)

    return act


async def check_dataset(store: Store) -> Act:
    ticket = await store.open_session(ANN).dataset_files.upload(USA)
    access = store.open_session(ANN).dataset_files.access
    await write(store.files, upload_key(access, ticket.id))

    async def act(session: Session) -> None:
        await session.dataset_files.check_upload(
            [DatasetColumn(name="x", type=ValueType.STRING)], None, ticket.id
        )

    return act


async def sign_covers(_: Store) -> Act:
    async def act(session: Session) -> None:
        await session.audio.cover_sizes.sign_many([SizedCover("0" * 64, 100)])

    return act


@on_sqlite
@BOTH_KINDS
@pytest.mark.parametrize("prepare", [register, confirm, check_dataset, sign_covers])
async def test_what_a_session_calls_is_paid_call_by_call(
    table: Table, files: Files, kind: StoreKind, prepare: Callable[[Store], Awaitable[Act]]
) -> None:
    calls = list[StoreCall]()

    def watch(call: StoreCall) -> Callable[[], None]:
        calls.append(call)
        return lambda: None

    store = Store(table, files=InstrumentedFiles(files, [watch]), kind=kind)
    await create_groups(store)
    act = await prepare(store)
    calls.clear()
    await act(store.open_session(ANN, account := Account()))
    prices = FILE_PRICES[kind]
    price = sum(prices.change if one.method in CHANGES else prices.look for one in calls)
    assert calls
    assert account.taken + account.owed >= price
