"""Explanations of output rows are paid by the way to the row, and come whatever that is."""

from itertools import count

import pytest
from msgspec.structs import replace

from penstock.datastore.access.work import cpu_units
from penstock.datastore.errors import IllegalState, RateLimited
from penstock.datastore.executions.explanations import input_row
from penstock.datastore.executions.files import errors_key, output_key, staged_key
from penstock.datastore.records import (
    ExtraColumns,
    Output,
    Parameter,
    Transform,
    Transformer,
    ValueType,
)
from penstock.datastore.store import Store
from penstock.transform.outcome import RowCounts
from tests.datastore.executions.sample_executions import (
    ANN,
    finished_execution,
    pipeline_in,
    put_file,
    ready_execution,
)
from tests.support.sample_resources import create_groups, on_sqlite
from tests.support.work_account import Account

NUMBER = ValueType.NUMBER
TWO_STEPS = Transformer(
    parameters=(Parameter(index=0, key="x", type=NUMBER, required=True),),
    transforms=tuple(
        Transform(index=n, formula=formula, outputs=(Output(index=0, key=f"y{n}", type=NUMBER),))
        for n, formula in enumerate((":x * 2", "REF('y0') + 1"))
    ),
)


class Debtor(Account):
    """The account of a caller who has just what the work before has left."""

    def spend_more(self, units: int) -> None:
        if self.owed:
            raise RateLimited(7)
        super().spend_more(units)


@on_sqlite
async def test_a_row_of_corrected_rejected_rows_is_explained(store: Store) -> None:
    await create_groups(store)
    pipeline = await pipeline_in(store, transformer=TWO_STEPS)
    data = b"row,column,code,message,x\n7,x,C,m,1\n7,y,C,m,\n9,x,C,m,5\n"
    made = await finished_execution(store, pipeline, data)
    explained = await store.open_session(ANN, Debtor()).executions.explaining.of_output(made, 2)
    assert explained.input == (3, {"x": "5"})


@on_sqlite
async def test_a_row_far_below_is_explained_on_credit_and_the_next_one_refused(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    await create_groups(store)
    pipeline = await pipeline_in(store, transformer=TWO_STEPS)
    made = await finished_execution(store, pipeline, b"x\n1\n5\n")
    monkeypatch.setattr(input_row, "thread_time", count().__next__)
    account = Debtor()
    explaining = store.open_session(ANN, account).executions.explaining
    explained = await explaining.of_output(made, 2)
    assert explained.input == (2, {"x": "5"})
    assert [one.explained.text for one in explained.outputs] == ["10", "11"]
    assert account.owed >= cpu_units(1)
    taken = account.taken
    with pytest.raises(RateLimited):
        await explaining.of_output(made, 1)
    assert account.taken == taken


@on_sqlite
async def test_a_row_of_a_copied_result_is_explained_as_that_of_the_first(store: Store) -> None:
    await create_groups(store)
    pipeline = await pipeline_in(store, transformer=TWO_STEPS)
    data = "x\n1\n5\n".encode("utf-16")
    first = await finished_execution(store, pipeline, data)
    again = await finished_execution(store, pipeline, data)
    assert again.copied_from == first.id
    assert again.table_bytes == first.table_bytes == len("x\n1\n5\n")
    explaining = store.open_session(ANN).executions.explaining
    for made in (first, again):
        assert (await explaining.of_output(made, 2)).input == (2, {"x": "5"})


@on_sqlite
@pytest.mark.parametrize(
    "data",
    [
        "x\n1\n".encode("utf-16"),
        b"y\n1\n",
        b"x,x\n1\n",
        b"other,x\n1\n",
        b'x\n"1" 2\n',
    ],
)
async def test_a_row_that_a_worker_elsewhere_read_in_its_own_way_has_no_explanation(
    store: Store, data: bytes
) -> None:
    await create_groups(store)
    plan = replace(TWO_STEPS, extra_columns=ExtraColumns.IGNORE)
    pipeline = await pipeline_in(store, transformer=plan)
    made = await ready_execution(store, pipeline, data)
    external = store.open_session(ANN).executions.external
    await external.claim(made.id, "far")
    await put_file(store.files, staged_key(output_key(made), 1), b"y0,y1\r\n2,3\r\n")
    await put_file(store.files, staged_key(errors_key(made), 1), b"9" * 5000 + b",x\n")
    over = await external.complete(made.id, 1, RowCounts(1, 1, 0, 1, 1))
    with pytest.raises(IllegalState, match="in another way than servers"):
        await store.open_session(ANN).executions.explaining.of_output(over, 1)
