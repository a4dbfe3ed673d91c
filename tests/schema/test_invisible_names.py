"""No name that somebody gives has invisible characters; names from before can still be used."""

import re
import unicodedata
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, NamedTuple
from unittest.mock import patch

import pytest
from graphql import GraphQLInputObjectType, get_named_type

from penstock.datastore import text
from penstock.datastore.clock import iso_timestamp
from penstock.datastore.text import invisible_character_problem, name_problem, replace_unprintable
from penstock.schema import schema
from penstock.schema.engine.documents import core_schema
from tests.datastore.ngsi.sample_destinations import open_embedded
from tests.schema.audio.sample_playlists import add_songs
from tests.support.consistency_check import contents
from tests.support.graphql_client import (
    CONTENT,
    NOUNS,
    TRANSFORMER,
    Ask,
    content_for,
    draft,
    title_of,
    words_for,
)

BAD = "a\u202eb"
MESSAGE = "holds the invisible character U+202E"
VISIBLE_FORMATS = (
    "\u0600\u0601\u0602\u0603\u0604\u0605\u06dd\u070f\u0890\u0891\u08e2\U000110bd\U000110cd"
)
"""Characters of the category of formats that are drawn, as signs of numbers and abbreviations."""


class NameCase(NamedTuple):
    """A mutation whose input has a bad name at the path; ids are put in place of their names."""

    field: str
    input: dict[str, Any]
    path: list[str]


def resource_cases() -> dict[str, list[NameCase]]:
    """Give the name and the tags of each kind of resource, when it is made and when it changes."""
    found: dict[str, list[NameCase]] = {"TagInput.key": [], "TagInput.value": []}
    for noun in NOUNS:
        title = title_of(noun)
        create, update = f"create{title}", f"update{title}"
        made = draft("new", group="/usa")
        made = made if noun == "pipeline" else content_for(made, noun)
        change = {"id": noun, "expectedVersion": 1}
        found[f"Create{title}Input.name"] = [NameCase(create, {**made, "name": BAD}, ["name"])]
        found[f"Update{title}Input.name"] = [NameCase(update, {**change, "name": BAD}, ["name"])]
        for n, field in enumerate(("key", "value")):
            tag = {"key": "k", "value": "v", field: ("a/" * n) + BAD}
            wanted = ["tags", "0", field]
            found[f"TagInput.{field}"] += [
                NameCase(create, {**made, "tags": [tag]}, wanted),
                NameCase(update, {**change, "tags": [tag]}, wanted),
            ]
    for field in ("key", "value"):
        tag = {"key": "k", "value": "v", field: BAD}
        execution = {"pipelineId": "pipeline", "tags": [tag]}
        found[f"TagInput.{field}"].append(
            NameCase("createExecution", execution, ["tags", "0", field])
        )
    return found


def column_cases() -> dict[str, list[NameCase]]:
    found = {}
    for field in ("key", "label"):
        parameter = {**TRANSFORMER["parameters"][0], "index": 1, "key": "y", field: BAD}
        parameters = [*TRANSFORMER["parameters"], parameter]
        output = {"index": 0, "type": "NUMBER", field: BAD}
        transforms = [{**TRANSFORMER["transforms"][0], "outputs": [output]}]
        formula = {"formula": ":x", "parameters": parameters, "outputs": [output]}
        change = {"id": "pipeline", "expectedVersion": 1}
        whole = draft("new", group="/usa")
        found[f"ParameterInput.{field}"] = [
            NameCase(
                "createPipeline",
                {**whole, "transformer": {**TRANSFORMER, "parameters": parameters}},
                ["transformer", "parameters", "1", field],
            ),
            NameCase(
                "createCalculation",
                {"name": "new", "group": "/usa", **formula, "outputs": [{**output, field: "o"}]},
                ["parameters", "1", field],
            ),
        ]
        found[f"OutputInput.{field}"] = [
            NameCase(
                "updatePipeline",
                {**change, "transformer": {**TRANSFORMER, "transforms": transforms}},
                ["transformer", "transforms", "0", "outputs", "0", field],
            ),
            NameCase(
                "createCalculation",
                {
                    "name": "new",
                    "group": "/usa",
                    **formula,
                    "parameters": TRANSFORMER["parameters"],
                },
                ["outputs", "0", field],
            ),
        ]
    column = {**CONTENT["columns"][0], "name": BAD}
    content = {"columns": [column, CONTENT["columns"][1]], "csv": f"{BAD},y\na,1\n"}
    found["DatasetColumnInput.name"] = [
        NameCase(
            "createReferenceDataset",
            {"name": "new", "group": "/usa", "content": content},
            ["content", "columns", "0", "name"],
        )
    ]
    return found


TOMORROW = "tomorrow"
"""It stands for a day after the moment in which the input is sent."""

RUN = {"group": "/usa", "manifest": "loads", "runId": "r0"}
KEYS = {"accessKeyId": "AKIAIOSFODNN7EXAMPLE", "secretAccessKey": "their-secret"}
STORAGE = {"bucket": "bucket", "region": "us-east-1", "keys": KEYS}
TRACK = {"id": "track", "expectedVersion": 1}
OTHER_CASES: dict[str, NameCase] = {
    "CreateGroupInput.path": NameCase("createGroup", {"path": f"/usa/{BAD}"}, ["path"]),
    "CreateGroupInput.name": NameCase("createGroup", {"path": "/usa/x", "name": BAD}, ["name"]),
    "CreateApiKeyInput.name": NameCase(
        "createApiKey",
        {"name": BAD, "roles": [{"group": "/usa", "role": "READER"}], "expiresAt": TOMORROW},
        ["name"],
    ),
    "CreateAudioUploadInput.fileName": NameCase(
        "createAudioUpload", {"fileName": f"{BAD}.mp3"}, ["fileName"]
    ),
    "CreatePlaylistInput.name": NameCase("createPlaylist", {"name": BAD}, ["name"]),
    "RenamePlaylistInput.name": NameCase("renamePlaylist", {"id": "list", "name": BAD}, ["name"]),
    "ImportPlaylistInput.name": NameCase(
        "importPlaylist", {"format": "M3U8", "text": "#EXTM3U\n", "name": BAD}, ["name"]
    ),
    "CreateStorageConnectionInput.name": NameCase(
        "createStorageConnection", {"name": BAD, **STORAGE}, ["name"]
    ),
    "DiscoverRunInput.manifest": NameCase(
        "discoverRun", {**RUN, "manifest": BAD, "addedBy": "t"}, ["manifest"]
    ),
    "DiscoverRunInput.addedBy": NameCase(
        "discoverRun", {**RUN, "runId": "r1", "addedBy": BAD}, ["addedBy"]
    ),
    "DiscoverRunInput.pipeline": NameCase(
        "discoverRun", {**RUN, "runId": "r1", "addedBy": "t", "pipeline": BAD}, ["pipeline"]
    ),
    "ClaimRunInput.owner": NameCase(
        "claimRun", {**RUN, "stage": "TRANSFORM", "owner": BAD}, ["owner"]
    ),
    "MarkRunLoadedInput.loadedBy": NameCase(
        "markRunLoaded", {**RUN, "fence": 0, "loadedBy": BAD}, ["loadedBy"]
    ),
    "RunCountInput.name": NameCase(
        "markRunProcessed",
        {
            **RUN,
            "fence": 0,
            "shredTypes": [],
            "savedTo": "s3://bucket/run/",
            "counts": [{"name": BAD, "count": 1}],
        },
        ["counts"],
    ),
    "ClaimExecutionInput.worker": NameCase(
        "claimExecution", {"id": "execution", "worker": BAD}, ["worker"]
    ),
    "FailExecutionInput.code": NameCase(
        "failExecution", {"id": "execution", "fence": 1, "code": BAD, "message": "m"}, ["code"]
    ),
    "UpdateAudioInput.title": NameCase("updateAudio", {**TRACK, "title": BAD}, ["title"]),
    "UpdateAudioInput.artists": NameCase(
        "updateAudio", {**TRACK, "artists": ["x", BAD]}, ["artists", "1"]
    ),
    "UpdateAudioInput.album": NameCase("updateAudio", {**TRACK, "album": BAD}, ["album"]),
    "UpdateAudioInput.albumArtist": NameCase(
        "updateAudio", {**TRACK, "albumArtist": BAD}, ["albumArtist"]
    ),
    "UpdateAudioInput.genres": NameCase("updateAudio", {**TRACK, "genres": [BAD]}, ["genres", "0"]),
}
CASES = {
    **resource_cases(),
    **column_cases(),
    **{name: [case] for name, case in OTHER_CASES.items()},
}


PROSE = frozenset({"description", "summary", "formula", "message", "error", "reason", "skipReason"})
REFERENCES = frozenset(
    {"group", "manifest", "runId", "objectKey", "cursors", "keyColumn", "prefix"}
)
"""Fields that name what exists already; a manifest is made by `discoverRun` alone."""
CHECKED = frozenset(
    {
        *("bucket", "region", "endpoint", "roleArn", "accessKeyId", "secretAccessKey"),
        *("contentType", "savedTo", "stagePath"),
    }
)
"""Fields with a form of their own."""
DOCUMENTS = frozenset({"csv", "document", "text", "file"})
OTHERS = frozenset(
    {
        "DeleteGroupInput.path",
        "EvaluateInput.name",
        "MarkRunProcessedInput.shredTypes",
        "RecoverRunInput.shredTypes",
    }
)
"""Names of what exists, and the types of another program's data."""


def test_every_text_of_every_input_is_a_case_or_no_new_name() -> None:
    texts = {
        f"{type.name}.{name}"
        for type in core_schema(schema).type_map.values()
        if isinstance(type, GraphQLInputObjectType)
        for name, field in type.fields.items()
        if get_named_type(field.type).name in {"String", "GroupPath"}
    }
    no_names = PROSE | REFERENCES | CHECKED | DOCUMENTS
    others = {text for text in texts if text.partition(".")[2] in no_names} | OTHERS
    assert texts - (others - CASES.keys()) == CASES.keys()


@pytest.fixture(scope="module")
async def catalogue(
    tmp_path_factory: pytest.TempPathFactory,
) -> AsyncIterator[tuple[Ask, dict[str, str]]]:
    """Make a group with one of each thing that has a name; return their ids by their nouns."""
    async with open_embedded(tmp_path_factory.mktemp("names")) as store:
        ask = Ask(store)
        await ask.create_groups("/usa")
        ids = {noun: await Ask(store, noun).make("/usa", "old") for noun in NOUNS}
        ids["list"] = (await send(ask, "createPlaylist", {"name": "old"}, "playlist { id }"))[
            "playlist"
        ]["id"]
        (ids["track"],) = await add_songs(ask, "old")
        await send(ask, "discoverRun", {**RUN, "addedBy": "t"}, "run { id }")
        execution = {"pipelineId": ids["pipeline"]}
        made = await send(ask, "createExecution", execution, "execution { id }")
        ids["execution"] = made["execution"]["id"]
        yield ask, ids


DELETE_GROUP = """mutation($input: DeleteGroupInput!) { deleteGroup(input: $input) {
  __typename } }"""


async def send(ask: Ask, field: str, input: dict[str, Any], payload: str = "") -> Any:
    title = f"{field[0].upper()}{field[1:]}"
    read = f"...on {title}Payload {{ {payload} }}" if payload else ""
    document = f"""mutation($input: {title}Input!) {{ {field}(input: $input) {{
      __typename {read} ...on UserError {{ code message path }}
      ...on ValidationProblem {{ problems {{ path message }} }} }} }}"""
    return await ask.input(document, **input)


@pytest.mark.parametrize("name", CASES)
async def test_a_new_name_with_an_invisible_character_is_refused(
    name: str, catalogue: tuple[Ask, dict[str, str]]
) -> None:
    ask, ids = catalogue
    for case in CASES[name]:
        input = {
            field: ids.get(value, value) if field in {"id", "pipelineId"} else value
            for field, value in case.input.items()
        }
        if "expiresAt" in input:
            input["expiresAt"] = iso_timestamp(datetime.now(UTC) + timedelta(days=1))
        before = await contents(ask.store.table)
        answer = await send(ask, case.field, input)
        assert answer.get("code") == "BAD_USER_INPUT", answer
        (found,) = [one["message"] for one in answer["problems"] if one["path"] == case.path]
        assert MESSAGE in found
        assert await contents(ask.store.table) == before


@pytest.mark.parametrize("noun", NOUNS)
async def test_names_from_before_are_read_changed_and_deleted(noun: str, tmp_path: Path) -> None:
    async with open_embedded(tmp_path) as store:
        ask = Ask(store, noun)
        with patch.object(text, "_INVISIBLE", re.compile("(?!)")):
            await ask.create_groups("/usa", f"/usa/{BAD}")
            id = await ask.make(f"/usa/{BAD}", BAD, f"{BAD}=1")
        assert await ask.names(f"/usa/{BAD}") == [BAD]
        tags = {"all": [{"key": BAD, "value": "1"}]}
        assert await ask.names(f"/usa/{BAD}", tags=tags) == [BAD]
        await ask.change(id, 1, description="changed")
        await ask.change(id, 2, name="good")
        assert await ask.names(f"/usa/{BAD}") == ["good"]
        await ask.change(id, 3, tags=[])
        delete = """mutation($input: DeletePipelineInput!) { deletePipeline(input: $input) {
          __typename } }"""
        deleted = await ask.input(words_for(delete, "pipeline"), id=id)
        assert deleted["__typename"] == "DeletePipelinePayload"
        gone = await Ask(store).input(DELETE_GROUP, path=f"/usa/{BAD}")
        assert gone["__typename"] == "DeleteGroupPayload"


async def test_a_manifest_from_before_takes_runs(tmp_path: Path) -> None:
    async with open_embedded(tmp_path) as store:
        ask = Ask(store)
        await ask.create_groups("/usa")
        run = {**RUN, "manifest": BAD, "addedBy": "t"}
        with patch.object(text, "_INVISIBLE", re.compile("(?!)")):
            await send(ask, "discoverRun", run)
        for field, input in (
            ("discoverRun", {**run, "runId": "r1"}),
            ("skipRun", {**RUN, "manifest": BAD, "reason": "r"}),
        ):
            answer = await send(ask, field, input)
            assert answer["__typename"] == f"{field[0].upper()}{field[1:]}Payload"


def test_no_name_has_a_character_of_control_of_format_or_of_half_a_pair() -> None:
    for code in range(0x110000):
        letter = chr(code)
        if unicodedata.category(letter) in {"Cc", "Cf", "Cs", "Zl", "Zp"}:
            refused = name_problem(f"a{letter}b", 128) is not None
            assert refused is (letter not in VISIBLE_FORMATS), f"U+{code:04X}"


@pytest.mark.parametrize("name", ["\u3164", "a\u115f", "\uffa0b", "a\u034fb", "\U000e0001"])
def test_letters_without_a_shape_are_refused(name: str) -> None:
    assert "invisible character" in (name_problem(name, 128) or "")


GOOD = (
    "\u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645",  # Persian needs a non-joiner
    "\u0915\u094d\u200d\u0937",  # Devanagari with a joiner
    "\U0001f468\u200d\U0001f469\u200d\U0001f467",  # a family of three emoji
    "\u2764\ufe0f\u200d\U0001f525",  # a heart on fire
    "\U0001f3f4\U000e0067\U000e0062\U000e0065\U000e006e\U000e0067\U000e007f",  # the English flag
    "\u1820\u180b",  # a Mongolian letter and its variant
    "\u845b\U000e0100",  # a Japanese name with a variant of its letter
    "caf\xe9 \xfcber \u0441\u043b\u043e\u0432\u043e \u05e9\u05dc\u05d5\u05dd",
    "\ue000",  # private letters are drawn
    "\U0001fae9",  # newer than Python's tables
)
BROKEN = (
    "a\u200cb",
    "a\u200db",
    "\u0645\u200c",
    "\u200c\u0645",
    "\u0645\u200c\u200c\u0645",
    "\U0001f468\u200d",
    "\U0001f3f4\U000e0067",
    "a\u180bb",
)


@pytest.mark.parametrize("name", GOOD)
def test_what_a_script_needs_is_allowed_in_names(name: str) -> None:
    assert name_problem(name, 128) is None
    assert replace_unprintable(name) == name


@pytest.mark.parametrize("name", BROKEN)
def test_a_joiner_that_joins_nothing_is_refused(name: str) -> None:
    assert invisible_character_problem(name) is not None


def test_tags_of_files_lose_their_invisible_characters() -> None:
    assert replace_unprintable("a\u202eb\u200bc\ufeff\x00d") == "abc d"
