"""`penstock documents sync` writes the list of the documents that a server trusts."""

import json
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from penstock.server.app_options import read_persisted
from penstock.server.commands import documents
from penstock.server.core.command_output import CommandFailed, CommandOutput
from penstock.server.settings.settings import Settings

VIEWER = "query Viewer {\n  viewer { userId }\n}"
GROUP = "query Group($path: GroupPath!) { group(path: $path) { ...Names } }"
NAMES = "fragment Names on Group { path ...More }"
MORE = "fragment More on Group { name }"


def id_of(text: str) -> str:
    return sha256(text.encode()).hexdigest()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return the folder of a client with two documents and fragments in two other files."""
    folder = tmp_path / "client"
    (folder / "parts").mkdir(parents=True)
    (folder / "viewer.graphql").write_text(VIEWER + "\n")
    (folder / "group.gql").write_text(GROUP)
    (folder / "parts" / "names.graphql").write_text(NAMES)
    (folder / "parts" / "more.graphql").write_text(MORE)
    (folder / "notes.txt").write_text("no document")
    return folder


def sync(folder: Path, **options: Any) -> CommandOutput:
    return documents.sync(folder, output=folder.parent / "list.json", **options)


def read_written(folder: Path) -> dict[str, str]:
    texts: dict[str, str] = json.loads((folder.parent / "list.json").read_text())
    return texts


WHOLE_GROUP = "\n\n".join([GROUP, MORE, NAMES])


def test_each_file_with_an_operation_is_listed_with_the_fragments_it_needs(folder: Path) -> None:
    output = sync(folder)
    wanted = {id_of(VIEWER): VIEWER, id_of(WHOLE_GROUP): WHOLE_GROUP}
    assert read_written(folder) == wanted
    assert output.code == 0
    assert output.data == {
        "list": str(folder.parent / "list.json"),
        "documents": 2,
        "added": sorted(wanted),
        "removed": [],
    }


def test_a_server_trusts_the_list_and_nothing_else(folder: Path) -> None:
    sync(folder)
    settings = Settings.load(
        data_dir=folder, persisted_queries="trusted", trusted_documents=folder.parent / "list.json"
    )
    assert read_persisted(settings).find_text(id_of(VIEWER)) == VIEWER
    again = documents.sync(folder, output=settings.trusted_documents)
    assert (again.data["added"], again.data["removed"]) == ([], [])  # type: ignore[index]


def test_what_codegen_wrote_keeps_its_ids(folder: Path) -> None:
    (folder / "persisted-documents.json").write_text(json.dumps({"abc": VIEWER}))
    sync(folder)
    assert read_written(folder)["abc"] == VIEWER


def test_older_documents_stay_until_they_are_pruned(folder: Path) -> None:
    sync(folder)
    (folder / "group.gql").unlink()
    assert sync(folder).data["removed"] == []  # type: ignore[index]
    assert set(read_written(folder)) == {id_of(VIEWER), id_of(WHOLE_GROUP)}
    assert sync(folder, prune=True).data["removed"] == [id_of(WHOLE_GROUP)]  # type: ignore[index]
    assert set(read_written(folder)) == {id_of(VIEWER)}


def test_a_check_changes_nothing_and_fails_for_a_list_that_is_behind(folder: Path) -> None:
    behind = sync(folder, check=True)
    assert (behind.code, "2 would be added" in behind.text) == (1, True)
    assert not (folder.parent / "list.json").exists()
    sync(folder)
    assert sync(folder, check=True).code == 0
    (folder / "group.gql").unlink()
    assert sync(folder, check=True).code == 0
    assert sync(folder, check=True, prune=True).code == 1
    assert set(read_written(folder)) == {id_of(VIEWER), id_of(WHOLE_GROUP)}


BAD = {
    "has no field of the schema": (
        "query { viewer { userId }\n  nothing }",
        ":2:3: Cannot query field 'nothing' on type 'Query'.",
    ),
    "is cut off": ("query {", ":1:8: Syntax Error: Expected Name, found <EOF>."),
    "spreads a fragment that no file has": (
        "{ viewer { ...Gone } }",
        ":1:15: Unknown fragment 'Gone'.",
    ),
}


@pytest.mark.parametrize("bad", BAD)
def test_a_bad_document_is_named_with_its_place_and_nothing_is_written(
    bad: str, folder: Path
) -> None:
    sync(folder)
    before = read_written(folder)
    text, problem = BAD[bad]
    path = folder / "bad.graphql"
    path.write_text(text)
    with pytest.raises(CommandFailed) as failure:
        sync(folder, prune=True)
    assert f"{path}{problem}" in failure.value.lines
    assert read_written(folder) == before


def test_a_folder_without_documents_empties_no_list(folder: Path, tmp_path: Path) -> None:
    sync(folder)
    before = read_written(folder)
    empty = tmp_path / "empty"
    empty.mkdir()
    with pytest.raises(CommandFailed, match="has no documents"):
        sync(empty, prune=True)
    with pytest.raises(CommandFailed, match="is no folder"):
        sync(tmp_path / "absent", prune=True)
    with pytest.raises(CommandFailed, match="No list is named"):
        documents.sync(folder)
    assert read_written(folder) == before
