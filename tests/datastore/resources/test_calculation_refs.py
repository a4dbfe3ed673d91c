"""The callees of formulas are found at save time, as the caller's groups see them."""

from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from penstock.datastore.clock import Clock
from penstock.datastore.errors import Invalid, LimitExceeded
from penstock.datastore.records import (
    Calculation,
    Output,
    Parameter,
    State,
    Transform,
    Transformer,
    ValueType,
)
from penstock.datastore.roles import ROOT, Caller, GroupPath, Role
from penstock.datastore.session import Session
from penstock.datastore.store import Store
from penstock.datastore.table.port import Batch, Page, Query, Table
from penstock.formula.core.limits import MAX_CALCULATIONS, MAX_CALL_DEPTH
from tests.support.stores import open_table

USA, NORTHWEST, EU = map(GroupPath, ("/usa", "/usa/northwest", "/eu"))
SUPER = Caller("super", {ROOT: Role.ADMIN})
OUTPUT = Output(index=0, key="o", type=ValueType.NUMBER)
NUMBER = Parameter(index=0, key="x", type=ValueType.NUMBER, required=True)


class CountedReads:
    """A table that counts the reads it forwards."""

    def __init__(self, table: Table) -> None:
        self._table = table
        self.count = 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self._table, name)

    async def get(self, keys: Any, *, consistent: bool = False) -> Batch:
        self.count += 1
        return await self._table.get(keys, consistent=consistent)

    async def query(self, query: Query) -> Page:
        self.count += 1
        return await self._table.query(query)


class DailyClock:
    """A clock that moves on by a day with each call."""

    def __init__(self) -> None:
        self.time = datetime(2022, 8, 10, tzinfo=UTC)

    def __call__(self) -> datetime:
        self.time += timedelta(days=1)
        return self.time


@pytest.fixture
async def reads(tmp_path: Path) -> AsyncIterator[Any]:
    async with open_table("sqlite", tmp_path) as table:
        yield CountedReads(table)


@pytest.fixture
async def session(reads: Any) -> Session:
    session = Store(reads, Clock(now=DailyClock())).open_session(SUPER)
    for group in (USA, NORTHWEST, EU):
        await session.groups.create(group, None)
    return session


def content(name: str, formula: str) -> dict[str, Any]:
    return {
        "name": name,
        "tags": (),
        "formula": formula,
        "parameters": (NUMBER,) if ":x" in formula else (),
        "outputs": (OUTPUT,),
    }


async def save(session: Session, group: GroupPath, name: str, formula: str) -> Calculation:
    return await session.calculations.writing.create(group, content(name, formula), None)


async def rewrite(session: Session, one: Calculation, formula: str, **more: Any) -> Calculation:
    changes = {"formula": formula, "parameters": content("", formula)["parameters"], **more}
    return await session.calculations.writing.update(one.id, one.version, changes)


async def refusal(session: Session, group: GroupPath, formula: str, name: str = "new") -> list[str]:
    """The codes with which a new calculation is refused."""
    with pytest.raises(Invalid) as refused:
        await save(session, group, name, formula)
    return codes(refused.value)


def codes(refused: Invalid) -> list[str]:
    return [str(problem.code) for problem in refused.problems]


def transformer(*formulas: str) -> Transformer:
    return Transformer(
        parameters=(NUMBER,),
        transforms=tuple(
            Transform(index=n, formula=text, outputs=(Output(index=0, type=ValueType.NUMBER),))
            for n, text in enumerate(formulas)
        ),
    )


async def test_a_name_means_what_the_owner_group_sees_nearest_first(session: Session) -> None:
    await save(session, USA, "double", ":x*2")
    await save(session, EU, "double", "2")
    assert (await save(session, NORTHWEST, "one", "#double(1)")).version == 1
    assert (await save(session, EU, "one", "#Double()")).version == 1
    assert await refusal(session, ROOT, "#double(1)") == ["UNKNOWN_CALCULATION"]
    assert await refusal(session, EU, "#double(1)") == ["WRONG_ARITY"]
    assert await refusal(session, USA, "#double('a')+#nothing()") == [
        "WRONG_TYPE",
        "UNKNOWN_CALCULATION",
    ]


async def test_what_is_called_calls_by_the_names_of_its_own_group(session: Session) -> None:
    await save(session, EU, "factor", "3")
    shared = await save(session, EU, "shared", "#factor()")
    await session.calculations.writing.grant(shared.id, USA)
    assert await refusal(session, USA, "#factor()") == ["UNKNOWN_CALCULATION"]
    assert (await save(session, USA, "user", "#shared()")).version == 1


async def test_a_transform_of_a_pipeline_calls_calculations(session: Session) -> None:
    await save(session, USA, "double", ":x*2")
    made = {"name": "p", "tags": (), "transformer": transformer(":x", "#double(:x)")}
    assert (await session.pipelines.writing.create(NORTHWEST, made, None)).version == 1
    broken = {**made, "name": "q", "transformer": transformer("#double(:x)", "#double()")}
    with pytest.raises(Invalid) as refused:
        await session.pipelines.writing.create(NORTHWEST, broken, None)
    (problem,) = refused.value.problems
    assert problem.path == ["transformer", "transforms", "1", "formula"]
    assert problem.code == "WRONG_ARITY"


async def test_calls_in_a_circle_are_refused(session: Session) -> None:
    a = await save(session, USA, "a", "1")
    b = await save(session, USA, "b", "#a()")
    await save(session, NORTHWEST, "c", "#b()")
    for formula in ("#a()", "#b()"):
        with pytest.raises(Invalid) as refused:
            await rewrite(session, a, formula)
        assert codes(refused.value) == ["CALCULATION_CYCLE"]
    assert (await session.calculations.reading.one(a.id)).version == 1
    assert await refusal(session, USA, "#new()") == ["CALCULATION_CYCLE"]
    assert await refusal(session, USA, "#new(version=1)") == ["CALCULATION_CYCLE"]
    assert (await rewrite(session, b, "#a(version=1)")).version == 2


async def test_an_earlier_version_of_itself_is_no_circle(session: Session) -> None:
    a = await save(session, USA, "a", "1")
    a = await rewrite(session, a, "#a(version=1)+1")
    assert a.version == 2
    with pytest.raises(Invalid) as refused:
        await rewrite(session, a, "#a(version=3)")
    assert codes(refused.value) == ["CALCULATION_CYCLE"]


async def test_a_name_that_is_given_up_means_nothing_and_the_new_one_itself(
    session: Session,
) -> None:
    a = await save(session, USA, "a", "1")
    with pytest.raises(Invalid) as refused:
        await rewrite(session, a, "#a()", name="b")
    assert codes(refused.value) == ["UNKNOWN_CALCULATION"]
    with pytest.raises(Invalid) as refused:
        await rewrite(session, a, "#b()", name="b")
    assert codes(refused.value) == ["CALCULATION_CYCLE"]


async def test_a_version_is_named_by_number_or_by_time(session: Session) -> None:
    one = await save(session, USA, "one", "1")
    two = await rewrite(session, one, ":x")
    assert (await save(session, USA, "numbered", "#one(version=1)")).version == 1
    assert (await save(session, USA, "current", "#one(7, version=2)")).version == 1
    assert await refusal(session, USA, "#one(version=2)") == ["WRONG_ARITY"]
    assert await refusal(session, USA, "#one(version=3)") == ["UNKNOWN_CALCULATION"]
    between = f"#one(versionAsAt='{one.updated_at}')"
    assert (await save(session, USA, "timed", between)).version == 1
    assert await refusal(session, USA, f"#one(versionAsAt='{two.updated_at}')") == ["WRONG_ARITY"]
    for time in ("2022-08-01", "no time", "0001-01-01T00:00:00+23:00"):
        formula = f"#one(versionAsAt='{time}')"
        assert await refusal(session, USA, formula) == ["UNKNOWN_CALCULATION"]


async def test_another_group_can_be_named_on_the_line_of_the_owner(session: Session) -> None:
    await save(session, NORTHWEST, "local", "1")
    await save(session, EU, "local", "2")
    assert (await save(session, USA, "down", "#local(group='/USA/northwest')")).version == 1
    assert await refusal(session, USA, "#local()") == ["UNKNOWN_CALCULATION"]
    for group in ("/eu", "/nowhere", "no path"):
        assert await refusal(session, USA, f"#local(group='{group}')") == ["UNKNOWN_CALCULATION"]


async def test_what_was_deleted_cannot_be_called(session: Session) -> None:
    one = await save(session, USA, "one", "1")
    await session.calculations.deleting.delete(one.id)
    assert await refusal(session, USA, "#one()") == ["UNKNOWN_CALCULATION"]


async def test_what_calls_something_that_is_gone_can_be_disabled_and_not_changed(
    session: Session,
) -> None:
    one = await save(session, USA, "one", "1")
    two = await save(session, USA, "two", "#one()")
    await session.calculations.deleting.delete(one.id, force=True)
    update = session.calculations.writing.update
    with pytest.raises(Invalid) as refused:
        await update(two.id, 1, {"description": "new"})
    assert codes(refused.value) == ["UNKNOWN_CALCULATION"]
    assert (await update(two.id, 1, {"state": State.DISABLED})).version == 2


async def test_a_formula_without_a_call_reads_states_alone_and_a_level_takes_a_read_more(
    session: Session, reads: Any
) -> None:
    await save(session, USA, "l0", "1")
    reads.count = 0
    await save(session, USA, "quiet", "SEARCH('#l0()','l')")
    assert reads.count == 1
    for level in range(1, 4):
        reads.count = 0
        await save(session, USA, f"l{level}", f"#l{level - 1}()+#l0()")
        assert reads.count == 2 + level


async def test_calls_are_followed_as_deep_as_formulas_may_call(session: Session) -> None:
    first = await save(session, USA, "c0", "1")
    for depth in range(1, MAX_CALL_DEPTH + 1):
        await save(session, USA, f"c{depth}", f"#c{depth - 1}()")
    assert await refusal(session, USA, f"#c{MAX_CALL_DEPTH}()") == ["FORMULA_TOO_DEEP"]
    await save(session, USA, "below", "1")
    await rewrite(session, first, "#below()")
    with pytest.raises(LimitExceeded) as refused:
        await save(session, USA, "deeper", f"#c{MAX_CALL_DEPTH}()")
    assert refused.value.maximum == MAX_CALL_DEPTH


async def test_more_calls_than_a_formula_may_have_are_refused_before_they_are_looked_up(
    session: Session, reads: Any
) -> None:
    many = "+".join(f"#c{n}()" for n in range(MAX_CALCULATIONS + 1))
    reads.count = 0
    with pytest.raises(LimitExceeded) as refused:
        await save(session, USA, "many", many)
    assert (refused.value.maximum, refused.value.actual) == (100, 101)
    assert reads.count == 1
