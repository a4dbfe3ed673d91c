"""The processes of a server have its settings, and its secrets."""

from pathlib import Path
from typing import get_args

import msgspec
import pytest
from pydantic import SecretStr

from penstock.server.runtime.child_process import as_first_line, settings_for_process
from penstock.server.settings.settings import Settings

SECRETS = {
    name: f"secret of {name}"
    for name, field in Settings.model_fields.items()
    if SecretStr in (field.annotation, *get_args(field.annotation))
}


def test_a_process_has_all_settings_with_their_secrets(tmp_path: Path) -> None:
    settings = Settings.load(
        data_dir=tmp_path,
        execution_workers=3,
        allowed_hosts="a.example,b.example",
        openlineage_url="https://catalogue.example/lineage",
        ngsi_access_key_id="AKIA",
        **SECRETS,
    )
    line = as_first_line(settings_for_process(settings, port=9))
    again = Settings.load(**msgspec.json.decode(line))
    assert again == settings.model_copy(update={"port": 9})
    for name, secret in SECRETS.items():
        assert getattr(again, name).get_secret_value() == secret


def test_secrets_are_in_no_text_of_the_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, secret in SECRETS.items():
        monkeypatch.setenv(f"PENSTOCK_{name.upper()}", secret)
    settings = Settings.load(
        openlineage_url="https://catalogue.example/lineage", ngsi_access_key_id="AKIA"
    )
    assert {settings_for_process(settings)[name] for name in SECRETS} == {*SECRETS.values()}
    for text in (repr(settings), str(settings), settings.model_dump_json()):
        assert not [secret for secret in SECRETS.values() if secret in text]
