"""Imports, exports and comparisons begin for nobody in debt, and are paid by processor time."""

from collections.abc import Awaitable, Callable
from functools import partial
from itertools import count

import pytest

from penstock.datastore import interruptible_work
from penstock.datastore.access.work import CPU_SECONDS
from penstock.datastore.errors import LimitExceeded, RateLimited
from penstock.datastore.playlists.formats.document import PlaylistFormat
from penstock.datastore.playlists.formats.xspf import PIECE
from penstock.datastore.playlists.import_playlist import ImportOptions
from penstock.datastore.records import Pipeline
from penstock.datastore.request_threads import MOST_SECONDS
from penstock.datastore.resources.changes import RowChanges
from penstock.datastore.store import Store
from penstock.datastore.table.layout import PIPELINE
from penstock.resolvers.context import Context
from penstock.resolvers.playlists import export_file, import_file
from penstock.resolvers.resources import compare_versions
from tests.support.consistency_check import contents
from tests.support.graphql_client import CURSORS
from tests.support.sample_resources import SUPER, USA, create_groups, make
from tests.support.work_account import Account

M3U = "#EXTM3U\n#PLAYLIST:Mix\na.mp3\n"


Work = Callable[[Context, str, Pipeline], Awaitable[object]]


def import_mix(context: Context, _playlist: str, _pipeline: Pipeline) -> Awaitable[object]:
    return import_file(context, PlaylistFormat.M3U8, M3U, ImportOptions())


def export_mix(context: Context, playlist: str, _pipeline: Pipeline) -> Awaitable[object]:
    return export_file(context, playlist, PlaylistFormat.XSPF, playable=False)


def compare(context: Context, _playlist: str, pipeline: Pipeline) -> Awaitable[object]:
    return compare_versions(context, PIPELINE, pipeline, 1, 1)


@pytest.mark.parametrize(("work", "pieces"), [(import_mix, 3), (export_mix, 2), (compare, 1)])
async def test_work_is_paid_by_its_time_and_begins_for_nobody_in_debt(
    store: Store, monkeypatch: pytest.MonkeyPatch, work: Work, pieces: int
) -> None:
    session = await create_groups(store)
    pipeline = await make(session, USA, "one")
    playlist = await session.playlists.writing.create("Mix")
    # Each look at the clock of a thread is a unit later than the one before.
    monkeypatch.setattr(interruptible_work, "thread_time", partial(next, count(0, CPU_SECONDS)))
    account, poor = Account(), Account(most=0)
    before = await contents(store.table)
    with pytest.raises(RateLimited):
        await work(
            Context.open(store, SUPER, CURSORS, RowChanges(store.table), poor),
            playlist.id,
            pipeline,
        )
    assert (poor.taken, poor.owed) == (0, 0)
    assert await contents(store.table) == before
    await work(
        Context.open(store, SUPER, CURSORS, RowChanges(store.table), account), playlist.id, pipeline
    )
    assert account.taken == 1
    assert account.owed >= pieces


async def test_an_import_whose_file_takes_long_to_read_is_ended(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    session = await create_groups(store)
    context = Context.open(store, session.caller, CURSORS, RowChanges(store.table), Account())
    clock = partial(next, count(0, MOST_SECONDS + 1))
    monkeypatch.setattr(interruptible_work, "thread_time", clock)
    text = f'<playlist xmlns="http://xspf.org/ns/0/">{"<a/>" * PIECE}</playlist>'
    before = await contents(store.table)
    with pytest.raises(LimitExceeded):
        await import_file(context, PlaylistFormat.XSPF, text, ImportOptions(name="Mix"))
    assert await contents(store.table) == before
