"""Trusted documents as an operator sets them up."""

import json
from hashlib import sha256
from pathlib import Path

import pytest
from graphql import GraphQLError

from penstock.schema.engine.documents import PersistedMode
from penstock.server.app_options import read_persisted
from penstock.server.settings.invalid_settings import InvalidSettings
from penstock.server.settings.settings import Settings

TEXT = "{ viewer { userId } }"
DIGEST = sha256(TEXT.encode()).hexdigest()


def trusted_settings(path: Path) -> Settings:
    return Settings.load(persisted_queries="trusted", trusted_documents=path)


def test_documents_are_remembered_automatically_unless_told_otherwise() -> None:
    assert read_persisted(Settings.load()).mode is PersistedMode.AUTOMATIC
    assert read_persisted(Settings.load(persisted_queries="off")).mode is PersistedMode.OFF


def test_only_the_documents_of_the_file_run(tmp_path: Path) -> None:
    file = tmp_path / "persisted-documents.json"
    file.write_text(json.dumps({f"sha256:{DIGEST}": TEXT}))
    persisted = read_persisted(trusted_settings(file))
    assert persisted.mode is PersistedMode.TRUSTED
    assert persisted.find_text(DIGEST) == TEXT
    persisted.check_text(TEXT, None)
    with pytest.raises(GraphQLError, match="Only trusted documents"):
        persisted.check_text("{ __typename }", None)


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (None, "No such file"),
        (b"[]", "no JSON object"),
        (b'{"a": 1}', "no JSON object"),
        (b"{", "no"),
        (b'{"\xff": "{a}"}', "no JSON object"),
    ],
)
def test_an_odd_file_is_told_at_start(tmp_path: Path, content: bytes | None, reason: str) -> None:
    file = tmp_path / "documents.json"
    if content is not None:
        file.write_bytes(content)
    with pytest.raises(InvalidSettings, match=reason):
        read_persisted(trusted_settings(file))


def test_the_file_and_the_mode_go_together(tmp_path: Path) -> None:
    with pytest.raises(InvalidSettings, match="PENSTOCK_TRUSTED_DOCUMENTS"):
        Settings.load(persisted_queries="trusted")
    with pytest.raises(InvalidSettings, match="PENSTOCK_TRUSTED_DOCUMENTS"):
        Settings.load(trusted_documents=tmp_path / "documents.json")
