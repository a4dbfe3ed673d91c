"""The benchmark of large datasets, on a small one."""

from pathlib import Path

from benchmarks.large_dataset import measure_dataset
from tests.datastore.dataset_loads.sample_loads import index_always

__all__ = ["index_always"]


async def test_every_key_of_the_dataset_is_found(tmp_path: Path, index_always: None) -> None:
    cost = await measure_dataset(500, tmp_path)
    assert (cost.content.row_count, cost.content.is_indexed) == (500, True)
