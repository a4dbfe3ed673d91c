"""Items, reads and marks that the tests of tables share."""

from collections.abc import Iterable

import pytest

from penstock.datastore.table.limits import item_size
from penstock.datastore.table.port import (
    INDEX_HASH,
    Attributes,
    Item,
    Key,
    Page,
    Put,
    Query,
    Table,
    Value,
    key_of,
)
from tests.support.stores import IMPLEMENTATIONS

KB = 1024


def item(pk: str, sk: str, **attributes: Value) -> Item:
    return {"pk": pk, "sk": sk, **attributes}


def make_sized_item(pk: str, sk: str, size: int, *, index: str | None = None) -> Item:
    """Make an item of exactly so many bytes."""
    made = item(pk, sk, filler="")
    if index is not None:
        made[INDEX_HASH] = index
    return made | {"filler": "x" * (size - item_size(made))}


async def store(table: Table, items: Iterable[Item]) -> None:
    """Put the items in writes of at most 25 and of less than 1 MB."""
    waiting: list[Put] = []
    size = 0
    for each in items:
        size += item_size(each)
        if len(waiting) == 25 or size > 900 * KB:
            await table.write(waiting)
            waiting, size = [], item_size(each)
        waiting.append(Put(each))
    await table.write(waiting)


async def stored_item(table: Table, pk: str, sk: str) -> Attributes | None:
    key = Key(pk, sk)
    return (await table.get([key], consistent=True)).items.get(key)


async def everything(table: Table, partition: str) -> list[Attributes]:
    """Read a small partition whole."""
    page = await table.query(Query(partition=partition, consistent=True))
    assert page.last is None
    return list(page.items)


async def sort_keys(table: Table, query: Query) -> list[str]:
    return sort_keys_of(await table.query(query))


def sort_keys_of(page: Page) -> list[str]:
    return [key_of(each).sk for each in page.items]


def moto_deviates(reason: str) -> pytest.MarkDecorator:
    """Expect moto to fail the test, for a reason in which it differs from AWS."""
    marks = pytest.mark.xfail(reason=f"moto: {reason}", strict=True)
    return pytest.mark.parametrize(
        "implementation",
        [pytest.param(name, marks=marks) if name == "moto" else name for name in IMPLEMENTATIONS],
        indirect=True,
    )
