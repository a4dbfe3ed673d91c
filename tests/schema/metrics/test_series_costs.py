"""The points of a series are paid before they are computed, by what they are made of."""

from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

import pytest

from penstock.datastore.access.work import point_units
from penstock.datastore.errors import RateLimited
from penstock.datastore.kept_rows.metric_series import SeriesRequest, SeriesTotals
from penstock.datastore.kept_rows.read_totals import Every, Total
from penstock.datastore.kept_rows.repository import KeptRows, SnapshotTotals
from penstock.datastore.session import Session
from penstock.datastore.table.layout import METRIC
from penstock.schema.core.relay import parse_global_id
from tests.schema.kept_rows.energy import keep_energy
from tests.schema.metrics.sample_metrics import kwh, make_metric
from tests.support.graphql_client import ROOT, Ask
from tests.support.work_account import Account

HOURS = 2_000
START = datetime(2025, 1, 1, tzinfo=UTC)
HOUR = timedelta(hours=1)
WANTED = SeriesRequest(start=START, end=START + HOURS * HOUR, every=Every.HOUR)


@pytest.fixture(autouse=True)
def many_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let each pipeline have rows in each hour."""
    values: dict[str, Any] = {"count:kwh": 2, "sum:kwh": Decimal("1.5")}
    found = [Total(START + n * HOUR, START + (n + 1) * HOUR, {}, 2, values) for n in range(HOURS)]

    async def all_totals(*_: object) -> SnapshotTotals:
        return SnapshotTotals("2026-01-01T00:00:00.000Z", found)

    monkeypatch.setattr(KeptRows, "all_totals", all_totals)


async def spend_on_series(ask: Ask, id: str, most: int = 10**9) -> int:
    """Read a series at the cost of an account; return what it pays before the work."""
    account = Account(most)
    session: Session = ask.store.open_session(ROOT, account)
    key = parse_global_id(id)
    assert key is not None
    metric = await session.repository(METRIC).reading.one(key.key)
    found = await session.metric_series.read(metric, WANTED)
    assert len(found.points) == HOURS
    return account.taken


async def test_a_series_is_paid_by_its_points_and_what_each_is_made_of(ask: Ask) -> None:
    await keep_energy(ask)
    one = await make_metric(ask, "one", kwh())
    assert await spend_on_series(ask, one) == point_units(HOURS, HOURS) > HOURS // 10
    two = await make_metric(ask, "two", {"metric": "one"}, kwh())
    assert await spend_on_series(ask, two) == point_units(2 * HOURS, 3 * HOURS)


async def test_metrics_without_outputs_are_paid_too(ask: Ask) -> None:
    await keep_energy(ask)
    for n in range(10):
        await make_metric(ask, f"empty {n}")
    empty = [{"metric": f"empty {n}"} for n in range(10)]
    for n in range(10):
        await make_metric(ask, f"layer {n}", *empty)
    above = [{"metric": f"layer {n}"} for n in range(10)]
    top = await make_metric(ask, "top", kwh(), *above)
    assert await spend_on_series(ask, top) == point_units(HOURS, HOURS * (1 + 10 + 100))


async def test_who_cannot_pay_gets_no_points(ask: Ask, monkeypatch: pytest.MonkeyPatch) -> None:
    await keep_energy(ask)
    one = await make_metric(ask, "one", kwh())
    computed: list[object] = []
    monkeypatch.setattr(SeriesTotals, "list_points", computed.append)
    with pytest.raises(RateLimited):
        await spend_on_series(ask, one, most=HOURS // 10)
    assert computed == []
