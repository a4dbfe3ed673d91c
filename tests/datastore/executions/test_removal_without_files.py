"""A server that has no place for files finishes the deletion of pipelines as well."""

from pathlib import Path

from penstock.datastore.store import Store
from tests.support.consistency_check import faults
from tests.support.sample_resources import USA, create_groups, make
from tests.support.stores import open_table


async def test_a_deleted_pipeline_is_removed_where_there_are_no_files(tmp_path: Path) -> None:
    async with open_table("sqlite", tmp_path) as table:
        store = Store(table)
        session = await create_groups(store)
        # So many tags take more than one transaction, and leave a tombstone to the sweep.
        pipeline = await make(session, USA, "Smelt", *(f"k{n}=a/b" for n in range(30)))
        await session.pipelines.deleting.delete(pipeline.id)
        await store.finish_deletes()
        assert await store.count_pending_deletes() == 0
        assert await faults(table) == []
