"""Every table writes in the same way: each operation, whole transactions or none, and races."""

import asyncio
from decimal import Decimal

import pytest

from penstock.datastore.table.port import (
    Check,
    Compare,
    ConditionFailed,
    Delete,
    Exists,
    FailedCheck,
    Key,
    Missing,
    Operation,
    Put,
    Table,
    Update,
    key_of,
)
from tests.datastore.table.sample_items import (
    KB,
    everything,
    item,
    make_sized_item,
    store,
    stored_item,
)

KEY = Key("p", "s")


async def test_a_put_replaces_the_whole_item(table: Table) -> None:
    await table.transact([Put(item(*KEY, a=1, b=2))])
    await table.transact([Put(item(*KEY, b=3))])

    assert await stored_item(table, *KEY) == item(*KEY, b=3)


async def test_a_delete_takes_the_item_or_nothing(table: Table) -> None:
    await store(table, [item(*KEY), item("p", "t")])

    await table.transact([Delete(KEY), Delete(Key("p", "missing"))])

    assert await everything(table, "p") == [item("p", "t")]


async def test_an_update_changes_what_it_names_and_nothing_else(table: Table) -> None:
    await store(table, [item(*KEY, kept=[1], old="x", gone="y", count=5, null=None)])

    await table.transact(
        [
            Update(
                key=KEY,
                set={"old": {"now": "a map"}, "fresh": ""},
                default={"kept": "never", "null": "never", "given": 1},
                add={"count": -7, "first": 3},
                remove=("gone", "absent"),
            )
        ]
    )

    assert await stored_item(table, *KEY) == item(
        *KEY, kept=[1], old={"now": "a map"}, fresh="", null=None, given=1, count=-2, first=3
    )


async def test_an_update_makes_an_item_that_is_missing(table: Table) -> None:
    await table.transact(
        [
            Update(key=Key("p", "a"), set={"n": 1}),
            Update(key=Key("p", "b"), default={"n": 2}),
            Update(key=Key("p", "c"), add={"n": 3}),
            Update(key=Key("p", "d"), remove=("n",)),
        ]
    )

    made = [item("p", "a", n=1), item("p", "b", n=2), item("p", "c", n=3), item("p", "d")]
    assert await everything(table, "p") == made


async def test_sums_are_exact(table: Table) -> None:
    sums: list[tuple[int | Decimal, int | Decimal, int | Decimal]] = [
        (Decimal("0.1"), Decimal("0.2"), Decimal("0.3")),
        (Decimal("0.5"), Decimal("0.5"), 1),
        (int("9" * 38) - 1, 1, int("9" * 38)),
        (10**37, Decimal(-1), 10**37 - 1),
        (-(10**37), 1, -(10**37) + 1),
    ]
    await store(table, (item("p", str(place), n=old) for place, (old, _, _) in enumerate(sums)))

    await table.transact(
        [
            Update(key=Key("p", str(place)), add={"n": amount})
            for place, (_, amount, _) in enumerate(sums)
        ]
    )

    totals = [each["n"] for each in await everything(table, "p")]
    assert totals == [total for _, _, total in sums]


async def test_a_write_does_puts_and_deletes(table: Table) -> None:
    await store(table, [item("p", "old", n=1), item("p", "gone")])
    fresh = [item("p", f"{number:02}") for number in range(22)]

    await table.write(
        [
            *map(Put, fresh),
            Put(item("p", "old", m=2)),
            Delete(Key("p", "gone")),
            Delete(Key("p", "nobody")),
        ]
    )

    assert await everything(table, "p") == [*fresh, item("p", "old", m=2)]


async def test_a_transaction_of_100_operations_is_done(table: Table) -> None:
    await store(table, (item("p", f"{number:02}", n=1) for number in range(50)))
    operations: list[Operation] = [
        *(Update(key=Key("p", f"{number:02}"), add={"n": 1}) for number in range(20)),
        *(Delete(Key("p", f"{number:02}"), Exists()) for number in range(20, 40)),
        *(Check(Key("p", f"{number:02}"), Exists()) for number in range(40, 50)),
        *(Put(item("p", f"{number:02}"), Missing()) for number in range(50, 100)),
    ]

    await table.transact(operations)

    assert await everything(table, "p") == [
        *(item("p", f"{number:02}", n=2) for number in range(20)),
        *(item("p", f"{number:02}", n=1) for number in range(40, 50)),
        *(item("p", f"{number:02}") for number in range(50, 100)),
    ]


async def test_a_transaction_that_fails_names_every_failure_and_changes_nothing(
    table: Table,
) -> None:
    before = [item("p", "a", n=1, deep={"x": [None]}), item("p", "b"), item("p", "c")]
    await store(table, before)

    with pytest.raises(ConditionFailed) as caught:
        await table.transact(
            [
                Put(item("p", "a", n=9), Compare("n", "=", 2)),
                Put(item("p", "new")),
                Delete(Key("p", "b"), Exists()),
                Update(key=Key("p", "z"), add={"n": 1}, condition=Exists()),
                Check(Key("p", "c"), Missing()),
                Delete(Key("p", "y"), Exists("n")),
            ]
        )

    assert caught.value.failed == (
        FailedCheck(0, before[0]),
        FailedCheck(3, None),
        FailedCheck(4, before[2]),
        FailedCheck(5, None),
    )
    assert await everything(table, "p") == before


async def test_a_check_changes_nothing(table: Table) -> None:
    await store(table, [item(*KEY, n=1)])

    await table.transact([Check(KEY, Exists()), Check(Key("p", "missing"), Missing())])

    assert await everything(table, "p") == [item(*KEY, n=1)]


async def test_concurrent_sums_lose_nothing(table: Table) -> None:
    await asyncio.gather(
        *(
            table.transact([Update(key=KEY, add={"n": 1}), Put(item("q", f"{number:02}"))])
            for number in range(50)
        )
    )

    assert await stored_item(table, *KEY) == item(*KEY, n=50)
    assert len(await everything(table, "q")) == 50


async def test_a_refused_transaction_undoes_no_write_of_others(table: Table) -> None:
    await store(table, [item(*KEY)])

    async def refuse(n: int) -> None:
        with pytest.raises(ConditionFailed):
            await table.transact([Put(item("p", f"never{n}")), Put(item(*KEY, a=1), Missing())])

    async def write(n: int) -> None:
        await table.transact([Put(item("q", f"{n:02}"))])

    await asyncio.gather(*(each(n) for n in range(20) for each in (refuse, write)))

    assert await everything(table, "q") == [item("q", f"{n:02}") for n in range(20)]
    assert await everything(table, "p") == [item(*KEY)]


async def test_of_transactions_that_race_for_a_key_exactly_one_wins(table: Table) -> None:
    async def claim(name: str) -> str | None:
        try:
            await table.transact([Put(item(*KEY, winner=name), Missing()), Put(item("won", name))])
        except ConditionFailed as failure:
            ((position, there),) = failure.failed
            assert position == 0
            assert there is not None
            return None
        return name

    outcomes = await asyncio.gather(*(claim(f"racer {number}") for number in range(10)))

    (winner,) = filter(None, outcomes)
    assert await stored_item(table, *KEY) == item(*KEY, winner=winner)
    assert await everything(table, "won") == [item("won", winner)]


async def test_a_new_item_costs_its_size_twice_and_its_index_entry_once(table: Table) -> None:
    plain = await table.transact(
        [Put(make_sized_item("p", "a", KB)), Put(make_sized_item("p", "b", KB + 1))]
    )
    indexed = await table.transact([Put(make_sized_item("p", "c", KB + 1, index="g"))])
    alone = await table.write(
        [Put(make_sized_item("p", "d", KB + 1)), Put(make_sized_item("p", "e", 1, index="g"))]
    )

    assert (plain, indexed, alone) == (2.0 + 4.0, 4.0 + 2.0, 2.0 + 1.0 + 1.0)


@pytest.mark.filterwarnings("ignore:Sending a large body:ResourceWarning")
async def test_a_transaction_of_almost_4_mb_is_done(table: Table) -> None:
    items = [make_sized_item("p", f"{number:02}", 390 * KB) for number in range(10)]

    await table.transact([Put(each) for each in items])

    batch = await table.get([key_of(each) for each in items])
    assert batch.items == {key_of(each): each for each in items}
