"""The settings that administrators see: every one, and no secret."""

import pytest

from penstock.server.settings.invalid_settings import InvalidSettings
from penstock.server.settings.secure_urls import show_url
from penstock.server.settings.settings import Settings
from penstock.server.settings.shown_settings import show_settings


def settings_by_name(**given: object) -> dict[str, tuple[str | None, bool]]:
    settings = show_settings(Settings.load(**given))
    return {one.name: (one.value, one.is_default) for one in settings}


def test_every_setting_is_shown_by_the_name_of_its_variable() -> None:
    found = settings_by_name(port=9)
    assert list(found) == sorted(f"PENSTOCK_{name.upper()}" for name in Settings.model_fields)
    assert found["PENSTOCK_PORT"] == ("9", False)
    assert found["PENSTOCK_HOST"] == ("127.0.0.1", True)
    assert found["PENSTOCK_METRICS"] == ("true", True)
    assert found["PENSTOCK_ISSUER"] == (None, True)
    assert found["PENSTOCK_NGSI_BATCH_RETRY_INTERVALS"] == ("5000", True)


def test_secrets_are_hidden_in_fields_and_in_urls() -> None:
    found = settings_by_name(
        ngsi_access_key_id="AKIA",
        ngsi_secret_access_key="s3cret",
        openlineage_url="https://catalogue.example/lineage?key=s3cret&to=s3cret",
    )
    assert found["PENSTOCK_NGSI_SECRET_ACCESS_KEY"] == ("(hidden)", False)
    assert found["PENSTOCK_OPENLINEAGE_URL"] == (
        "https://catalogue.example/lineage?(hidden)",
        False,
    )
    assert "s3cret" not in str(found)


@pytest.mark.parametrize(
    ("setting", "url"),
    [
        ("dask", "tcp://me:s3cret@host:1"),
        ("public_url", "https://me:s3cret@host"),
        ("endpoint_url", "http://me:s3cret@host"),
        ("endpoint_url", "http://host/?key=s3cret"),
        ("s3_endpoint_url", "http://me:s3cret@host:9000/"),
        ("jwks_url", "host/keys?key=s3cret"),
        ("jwks_url", "http://me:a@s3cret@host/keys"),
        ("jwks_url", "http://me:a/s3cret@host/keys"),
        ("issuer", "me:s3cret@host"),
        ("issuer", "http://host/#s3cret"),
        ("openlineage_url", "http://me:s3cret?@host"),
        ("allowed_origins", "https://a.example,https://b.example/?key=s3cret"),
    ],
)
def test_other_urls_have_no_secret_and_a_refusal_does_not_show_it(setting: str, url: str) -> None:
    with pytest.raises(InvalidSettings, match=f"PENSTOCK_{setting.upper()}") as refused:
        Settings.load(**{setting: url})
    assert "(hidden)" in str(refused.value)
    assert "s3cret" not in str(refused.value)


@pytest.mark.parametrize(
    ("typed", "shown"),
    [
        ("https://host:1/keys", "https://host:1/keys"),
        ("https://host/keys?a=b c&d=e", "https://host/keys?(hidden)"),
        ("https://host/keys?to=me@host", "https://host/keys?(hidden)"),
        ("https://host/@me/keys#a", "https://host/@me/keys#(hidden)"),
        ("https://me:p@ss@host/keys", "https://(hidden)@host/keys"),
        ("https://me:pa/ss@host/keys", "https://(hidden)"),
        ("https://me:pa?ss@host/keys", "https://(hidden)"),
        ("http://host:port", "http://host:port"),
        ("me:pass@host", "(hidden)"),
        ("host/keys?a=b", "(hidden)"),
        ("nonsense", "nonsense"),
    ],
)
def test_a_url_is_shown_without_what_may_be_secret(typed: str, shown: str) -> None:
    assert show_url(typed) == shown
