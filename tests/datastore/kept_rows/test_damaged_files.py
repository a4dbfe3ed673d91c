"""A damaged file of rows is a failure with a code, whatever part of it is damaged."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final

import pytest

from penstock.datastore.access.work import WorkPayer
from penstock.datastore.errors import IllegalState
from penstock.datastore.kept_rows.engine import RowsEngine, quote_text

_END: Final = 8
"""The bytes behind the list of columns: its length, and the mark of the format."""

DAMAGES: Final[Mapping[str, Callable[[bytes], bytes]]] = {
    "nothing in it": lambda _: b"",
    "another format": lambda whole: b"k,v\n1,2\n" * len(whole),
    "its first half": lambda whole: whole[: len(whole) // 2],
    "other bytes in the list of columns": lambda whole: (
        whole[: -_END - 200] + bytes(200) + whole[-_END:]
    ),
    "no end of the list of columns": lambda whole: whole[:-_END] + b"\xff\xff\xff\x7fPAR1",
    "other bytes in the values": lambda whole: whole[:4] + b"\xff" * 400 + whole[404:],
}


@pytest.mark.parametrize("damage", DAMAGES.values(), ids=DAMAGES)
async def test_a_damaged_file_is_unreadable_and_nothing_of_it_is_said(
    damage: Callable[[bytes], bytes], caplog: pytest.LogCaptureFixture
) -> None:
    engine, user = RowsEngine(), WorkPayer("ann")
    with engine.scratch_files(".parquet", ".damaged") as (whole, damaged):
        await engine.read(write_to(whole), user)
        damaged.write_bytes(damage(whole.read_bytes()))
        with pytest.raises(IllegalState) as caught:
            await engine.read(read_from(damaged), user)
        assert caught.value.state == "UNREADABLE_ROWS"
        (record,) = caplog.records
        assert record.message.startswith("a file of rows is damaged: ")
        assert str(engine.folder) not in record.message + caught.value.message


def write_to(path: Path) -> Callable[[Any], object]:
    sql = (
        "COPY (SELECT range AS n, md5(range::VARCHAR) AS t FROM range(500)) "
        f"TO {quote_text(str(path))} (FORMAT parquet)"
    )
    return lambda connection: connection.execute(sql)


def read_from(path: Path) -> Callable[[Any], object]:
    sql = f"SELECT * FROM read_parquet({quote_text(str(path))})"
    return lambda connection: connection.execute(sql).fetchall()
