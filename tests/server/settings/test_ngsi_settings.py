"""The settings of the sink: the documented defaults, and invalid values."""

from datetime import timedelta

import pytest

from penstock.datastore.ngsi.options import RetentionTimes, SinkOptions
from penstock.server.settings.docs_page import render_page
from penstock.server.settings.settings import Settings
from tests.server.settings.test_settings import problems


def test_without_anything_set_the_sink_is_as_documented() -> None:
    settings = Settings.load()
    assert settings.sink_options == SinkOptions()
    assert (settings.ngsi_region, settings.access_key) == ("eu-central-1", None)


def test_notifications_are_taken_where_there_is_a_place_for_them() -> None:
    assert Settings.load().takes_notifications
    assert not Settings.load(ngsi=False).takes_notifications
    assert not Settings.load(store="dynamodb").takes_notifications
    assert Settings.load(store="dynamodb", bucket="files").takes_notifications
    assert problems(store="dynamodb", ngsi=True) == (
        "PENSTOCK_BUCKET: is required with PENSTOCK_NGSI=true: what is taken is kept there",
    )


def test_intervals_are_milliseconds_separated_by_commas(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PENSTOCK_NGSI_BATCH_RETRY_INTERVALS", "1000, 2500")
    assert Settings.load().sink_options.batching.retry_intervals == (1.0, 2.5)


@pytest.mark.parametrize("given", ["0", "-1", "x", "1,,2", "1.5"])
def test_other_intervals_are_refused(given: str) -> None:
    assert len(problems(ngsi_batch_retry_intervals=given)) >= 1


def test_times_of_retention_are_days_and_0_is_for_ever() -> None:
    days = [timedelta(days=each) for each in (7, 30, 9, 5)]
    usual = RetentionTimes(segments=days[0], runs=days[1])
    assert Settings.load().ngsi_retention == usual
    given = Settings.load(
        ngsi_keep_segments_days=9, ngsi_keep_runs_days=0, ngsi_keep_dead_letters_days=5
    )
    assert given.ngsi_retention == RetentionTimes(segments=days[2], letters=days[3])
    lifetimes = Settings.load(
        ngsi_keep_samples_days="30,/Vehicles=90"
    ).sink_options.layout.lifetimes
    assert lifetimes.days == (("/", 30), ("/vehicles", 90))


@pytest.mark.parametrize(
    "given",
    [
        {"ngsi_keep_runs_days": -1},
        {"ngsi_keep_samples_days": "vehicles=3"},
        {"ngsi_keep_samples_days": "soon"},
        {"ngsi_batch_ttl": -2},
        {"ngsi_batch_size": 0},
        {"ngsi_batch_timeout": 0},
        {"ngsi_retry_window": 0},
        {"ngsi_retry_window": 86_401},
        {"ngsi_data_model": "dm-by-attribute"},
        {"ngsi_attr_persistence": "rows"},
        {"ngsi_default_service": "a/b"},
        {"ngsi_default_service_path": "a"},
        {"ngsi_default_service_path": "/../a"},
        {"ngsi_default_service": ".."},
        {"ngsi_access_key_id": "AK"},
        {"ngsi_secret_access_key": "hidden"},
    ],
)
def test_what_makes_no_sense_is_refused(given: dict[str, object]) -> None:
    (problem,) = problems(**given)
    assert problem.startswith("PENSTOCK_NGSI_")
    assert "hidden" not in problem


def test_the_secret_key_is_shown_nowhere() -> None:
    settings = Settings.load(ngsi_access_key_id="AK", ngsi_secret_access_key="hidden")
    key = settings.access_key
    assert key is not None
    assert (key.id, key.secret) == ("AK", "hidden")
    assert "hidden" not in f"{settings!r} {key!r} {key} {render_page()}"
