"""The benchmark of decoding produces the same records in every way."""

from collections.abc import Callable
from typing import Any

import pytest

from benchmarks.canned_dynamodb import ROWS, pipeline_row
from benchmarks.record_decoding import ASKED, dynamodb_ways, embedded_ways, main


@pytest.mark.parametrize("store", [embedded_ways, dynamodb_ways])
def test_all_ways_come_to_the_same_records(store: Callable[..., Any]) -> None:
    by_items, records, parts = (work() for work in store([pipeline_row(n) for n in range(ROWS)]))
    assert len(by_items) == ROWS
    assert records == by_items
    assert [(part.id, part.name, part.state, part.version) for part in parts] == [
        (record.id, record.name, record.state, record.version) for record in records
    ]
    assert ASKED is not None
    assert not any(hasattr(part, "transformer") for part in parts)


def test_the_table_tells_times_and_ratios(capsys: pytest.CaptureFixture[str]) -> None:
    main(["--rounds", "1"])
    _, _, head, _, *lines = capsys.readouterr().out.splitlines()
    assert head == "| µs for 100 rows | items, then records | records | what is asked for |"
    assert [line.split(" | ")[0] for line in lines] == ["| embedded", "| DynamoDB"]
    assert all(line.split(" | ")[1].endswith(" · 1.0") for line in lines)
