"""Hours are kept of any number of samples, and read in short pages."""

import pytest

from penstock.datastore.ngsi.hours import day_keeper, paid_samples, reader


@pytest.fixture(autouse=True)
def keep_every_hour(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(day_keeper, "KEPT_SAMPLES", 1)
    monkeypatch.setattr(paid_samples, "WHOLE_PAGE", 1)
    monkeypatch.setattr(reader, "FIRST_PAGE", 1)
