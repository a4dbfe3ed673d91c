"""The benchmark of DynamoDB clients sends both the same requests and gets whole answers."""

from collections.abc import Iterator

import pytest

from benchmarks.canned_dynamodb import ROWS, canned_endpoint, pipeline_row, small_item
from benchmarks.dynamodb_client import CALLS, measure_calls, open_table, table
from penstock.datastore.records import Pipeline
from penstock.datastore.table.items import load, resource_id
from penstock.datastore.table.limits import item_size
from penstock.datastore.table.port import key_of
from tests.support.stores import aws_environment


@pytest.mark.usefixtures("_nobody")
async def test_both_clients_give_what_the_endpoint_holds() -> None:
    rows = [small_item(number) for number in range(ROWS)]
    pipelines = [pipeline_row(number) for number in range(ROWS)]
    with canned_endpoint() as url:
        stock, thin = await open_table(url, "stock"), await open_table(url, "thin")
        answers = [[await call(each) for call in CALLS.values()] for each in (stock, thin)]
        await stock.close()
        await thin.close()
    assert answers[0] == answers[1]
    one, many, page, records, write, transaction = answers[1]
    assert one.items == {key_of(rows[0]): rows[0]}
    assert many.items == {key_of(row): row for row in rows}
    assert (page.items, page.last) == (tuple(rows), key_of(rows[-1]))
    assert page.units == -(-sum(map(item_size, rows)) // 4096) / 2
    assert records == [load(Pipeline, item, id=resource_id(item)) for item in pipelines]
    assert (write, transaction) == (1.0, 20.0)


@pytest.mark.usefixtures("_nobody")
async def test_every_call_is_measured_with_both() -> None:
    with canned_endpoint() as url:
        found = await measure_calls(url, rounds=1, seconds=0.01)
    assert [*found] == [*CALLS]
    assert all(len(each.stock) == len(each.thin) == 1 for each in found.values())
    assert all(each.ratios[0] > 0 for each in found.values())
    assert len(table(found).splitlines()) == len(CALLS) + 2


@pytest.fixture
def _nobody() -> Iterator[None]:
    """Replace the credentials of the person who runs the tests."""
    with aws_environment():
        yield
