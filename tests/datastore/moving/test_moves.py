"""A store moves to another kind of store and back, with everything in it."""

from pathlib import Path

from tests.datastore.moving.furnished_store import (
    export_of,
    furnish,
    import_of,
    open_empty,
    read_everything,
)
from tests.support.stores import TWO


async def test_a_store_moves_to_another_one_and_back_with_everything(tmp_path: Path) -> None:
    async with (
        open_empty("sqlite", tmp_path) as first,
        open_empty(TWO[1], tmp_path, b"o" * 32) as second,
        open_empty("sqlite", tmp_path, b"z" * 32) as third,
    ):
        await furnish(first)
        before = await read_everything(first)
        assert len(before.rows) > 300
        assert len(before.samples) == 4
        assert len(before.files) > 10

        manifest = await export_of(first, tmp_path / "there").run()
        assert manifest.complete
        counts = (len(before.rows), len(before.samples), len(before.files))
        assert await import_of(second, tmp_path / "there").run() == counts
        assert await read_everything(second) == before

        await export_of(second, tmp_path / "back").run()
        assert await import_of(third, tmp_path / "back").run() == counts
        assert await read_everything(third) == before
