"""The rules of the fields of runs; all broken rules are reported at once."""

from typing import Any

import pytest

from penstock.datastore.errors import Invalid, LimitExceeded, NotFound
from penstock.datastore.manifest.lists import RunListFilter
from penstock.datastore.manifest.records import ManifestName, RunName, RunState
from penstock.datastore.manifest.runs import Discovery
from penstock.datastore.manifest.transitions import (
    Claim,
    Fail,
    Heartbeat,
    MarkLoaded,
    MarkProcessed,
    Reload,
    Skip,
    Transition,
    Unskip,
)
from penstock.datastore.session import Session
from penstock.datastore.store import Store
from tests.datastore.manifest.sample_runs import NAME, SNOW, TRANSFORM, claim, discover, run_name
from tests.support.consistency_check import contents
from tests.support.sample_resources import USA, on_sqlite, walk

LONG = "x" * 8193


@on_sqlite
@pytest.mark.parametrize(
    ("ask", "fields"),
    [
        (Claim(stage=TRANSFORM, owner=" ", seconds=0), ["owner", "leaseSeconds"]),
        (Claim(stage=TRANSFORM, owner="x" * 129, seconds=86_401), ["owner", "leaseSeconds"]),
        (Heartbeat(fence=-1, seconds=-1), ["fence", "leaseSeconds"]),
        (
            MarkProcessed(fence=0, shred_types=("",), saved_to="stage", counts={"": 1}),
            ["shredTypes", "savedTo", "counts"],
        ),
        (
            MarkProcessed(
                fence=0,
                shred_types=("t",) * 1001,
                saved_to="s3://bucket/" + "x" * 1012,
                counts={"n": -1},
            ),
            ["shredTypes", "savedTo", "counts"],
        ),
        (
            MarkProcessed(
                fence=2**63,
                shred_types=("a\0",),
                saved_to="s3://b/",
                counts={str(n): n for n in range(51)},
            ),
            ["fence", "shredTypes", "savedTo", "counts"],
        ),
        (MarkLoaded(fence=0, loaded_by="", counts={"n": 2**63}), ["loadedBy", "counts"]),
        (Fail(fence=0, error=LONG), ["error"]),
        (Fail(fence=0, error=""), ["error"]),
        (Skip(reason=" "), ["reason"]),
        (Unskip(reason=LONG), ["reason"]),
        (Reload(reason="", force=False), ["reason", "force"]),
    ],
)
async def test_an_ask_that_breaks_rules_is_told_all_of_them(
    session: Session, store: Store, ask: Transition, fields: list[str]
) -> None:
    await discover(session)
    before = await contents(store.table)
    with pytest.raises(Invalid) as refused:
        await session.runs.change(NAME, ask)
    assert [problem.path for problem in refused.value.problems] == [[field] for field in fields]
    assert await contents(store.table) == before


@on_sqlite
@pytest.mark.parametrize(
    ("more", "fields"),
    [
        ({"run_id": "", "added_by": ""}, ["runId", "addedBy"]),
        ({"run_id": "s3://bucket/run=1/"}, ["runId"]),
        ({"run_id": "é" * 513}, ["runId"]),
        (
            {"run_id": "a\nb", "pipeline": " ", "skip_reason": ""},
            ["runId", "pipeline", "skipReason"],
        ),
    ],
)
async def test_a_discovery_that_breaks_rules_is_told_all_of_them(
    session: Session, store: Store, more: dict[str, Any], fields: list[str]
) -> None:
    before = await contents(store.table)
    with pytest.raises(Invalid) as refused:
        await session.runs.discover(SNOW, Discovery(**{"run_id": "r", "added_by": "t", **more}))
    assert [problem.path for problem in refused.value.problems] == [[field] for field in fields]
    with pytest.raises(Invalid) as refused:
        await session.runs.discover(ManifestName(USA, ""), Discovery(run_id="r", added_by="t"))
    assert [problem.path for problem in refused.value.problems] == [["manifest"]]
    assert await contents(store.table) == before


async def test_the_longest_names_have_room_and_longer_ones_are_refused(
    session: Session, store: Store
) -> None:
    deep = ManifestName(USA, "%" * 128)
    longest = "x" * (1024 - len("R:/usa#:") - 3 * 128)
    await session.runs.discover(deep, Discovery(run_id=longest, added_by="t"))
    held = await claim(session, TRANSFORM, RunName(deep, longest))
    assert held.run_id == longest
    before = await contents(store.table)
    with pytest.raises(LimitExceeded) as refused:
        await session.runs.discover(deep, Discovery(run_id=longest + "x", added_by="t"))
    assert (refused.value.maximum, refused.value.actual, refused.value.path) == (
        1024,
        1025,
        ["runId"],
    )
    with pytest.raises(NotFound):
        await session.runs.one(RunName(deep, longest + "x"))
    assert await contents(store.table) == before
    odd = "a:b#c%d/ü=1/"
    await discover(session, odd)
    assert (await session.runs.one(run_name(odd))).run_id == odd
    new = RunListFilter(state=RunState.NEW)
    found = await walk(lambda window: session.run_lists.page(SNOW, new, window))
    assert [run.run_id for run in found] == [odd]
