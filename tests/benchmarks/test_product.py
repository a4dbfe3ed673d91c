"""The benchmark of the product fills a store, measures ten operations, and keeps what it filled."""

from pathlib import Path

import pytest

from benchmarks.product import stores
from benchmarks.product.measure import Load, measure_product
from benchmarks.product.operations import OPERATIONS
from benchmarks.product.stores import EMBEDDED, fill_store


def test_a_filled_store_is_measured_and_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stores, "_KEPT", tmp_path / "kept")
    interrupted = tmp_path / "kept" / "12.begun"
    interrupted.mkdir(parents=True)
    (interrupted / "penstock.db").write_bytes(b"a part of a store")
    filled = fill_store(EMBEDDED, 12, tmp_path / "first")
    assert len(filled.subjects.executions) >= 12
    found = measure_product(filled, Load(0.02, requests=400, metered=1), tmp_path)
    assert [one.title for one in found.operations] == [one.title for one in OPERATIONS]
    assert all(one.p50 <= one.p99 and one.calls > 0 for one in found.operations)
    assert [one.write_units > 0 for one in found.operations] == [False] * 9 + [True]
    again = fill_store(EMBEDDED, 12, tmp_path / "second")
    assert again.subjects == filled.subjects
