"""No name that somebody gives has invisible characters; names from before can still be used."""

import itertools
import re
import unicodedata
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, NamedTuple
from unittest.mock import patch

import pytest
from graphql import GraphQLInputObjectType, get_named_type
from hypothesis import example, given
from hypothesis import strategies as st

from penstock.datastore import text
from penstock.datastore.audio.track_rules import new_name_problems
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
NEW = {"name": "new", "group": "/usa"}
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
        if noun == "metric":
            found["CreateMetricInput.unit"] = [NameCase(create, {**made, "unit": BAD}, ["unit"])]
            found["UpdateMetricInput.unit"] = [NameCase(update, {**change, "unit": BAD}, ["unit"])]
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


def parameter_cases(field: str) -> list[NameCase]:
    """Give a key or a label of a parameter."""
    parameter = {**TRANSFORMER["parameters"][0], "index": 1, "key": "y", field: BAD}
    parameters = [*TRANSFORMER["parameters"], parameter]
    output = {"index": 0, "type": "NUMBER", field: "o"}
    return [
        NameCase(
            "createPipeline",
            {
                **draft("new", group="/usa"),
                "transformer": {**TRANSFORMER, "parameters": parameters},
            },
            ["transformer", "parameters", "1", field],
        ),
        NameCase(
            "createCalculation",
            {**NEW, "formula": ":x", "parameters": parameters, "outputs": [output]},
            ["parameters", "1", field],
        ),
    ]


def output_cases(field: str) -> list[NameCase]:
    """Give a key or a label of an output."""
    output = {"index": 0, "type": "NUMBER", field: BAD}
    transforms = [{**TRANSFORMER["transforms"][0], "outputs": [output]}]
    transformer = {**TRANSFORMER, "transforms": transforms}
    return [
        NameCase(
            "updatePipeline",
            {"id": "pipeline", "expectedVersion": 1, "transformer": transformer},
            ["transformer", "transforms", "0", "outputs", "0", field],
        ),
        NameCase(
            "createCalculation",
            {**NEW, "formula": ":x", "parameters": TRANSFORMER["parameters"], "outputs": [output]},
            ["outputs", "0", field],
        ),
    ]


def column_cases() -> dict[str, list[NameCase]]:
    """Give the names of what comes into and out of resources."""
    column = {**CONTENT["columns"][0], "name": BAD}
    content = {"columns": [column, CONTENT["columns"][1]], "csv": f"{BAD},y\na,1\n"}
    path = ["content", "columns", "0", "name"]
    return {
        **{f"ParameterInput.{field}": parameter_cases(field) for field in ("key", "label")},
        **{f"OutputInput.{field}": output_cases(field) for field in ("key", "label")},
        "DatasetColumnInput.name": [
            NameCase("createReferenceDataset", {**NEW, "content": content}, path)
        ],
    }


TOMORROW = "tomorrow"
"""It stands for a day after the moment in which the input is sent."""

RUN = {"group": "/usa", "manifest": "loads", "runId": "r0"}
KEYS = {"accessKeyId": "AKIAIOSFODNN7EXAMPLE", "secretAccessKey": "their-secret"}
STORAGE = {"bucket": "bucket", "region": "us-east-1", "keys": KEYS}
TRACK = {"id": "track", "expectedVersion": 1}
OTHER_CASES: dict[str, NameCase] = {
    "CreateGroupInput.path": NameCase("createGroup", {"path": f"/usa/{BAD}"}, ["path"]),
    "CreateGroupInput.name": NameCase("createGroup", {"path": "/usa/x", "name": BAD}, ["name"]),
    "UpdateGroupInput.name": NameCase("updateGroup", {"path": "/usa", "name": BAD}, ["name"]),
    "CreateApiKeyInput.name": NameCase(
        "createApiKey",
        {"name": BAD, "roles": [{"group": "/usa", "role": "READER"}], "expiresAt": TOMORROW},
        ["name"],
    ),
    "CreatePlayerPasswordInput.name": NameCase("createPlayerPassword", {"name": BAD}, ["name"]),
    "CreateExecutionInput.inputName": NameCase(
        "createExecution", {"pipelineId": "pipeline", "inputName": BAD}, ["inputName"]
    ),
    "CreateAudioUploadInput.fileName": NameCase(
        "createAudioUpload", {"fileName": f"{BAD}.mp3"}, ["fileName"]
    ),
    "CreateArtworkUploadInput.fileName": NameCase(
        "createArtworkUpload", {"fileName": f"{BAD}.png"}, ["fileName"]
    ),
    "CreatePlaylistUploadInput.fileName": NameCase(
        "createPlaylistUpload", {"fileName": f"{BAD}.m3u8"}, ["fileName"]
    ),
    "CreatePlaylistInput.name": NameCase("createPlaylist", {"name": BAD}, ["name"]),
    "RenamePlaylistInput.name": NameCase("renamePlaylist", {"id": "list", "name": BAD}, ["name"]),
    "ImportPlaylistInput.name": NameCase(
        "importPlaylist", {"format": "M3U8", "text": "#EXTM3U\n", "name": BAD}, ["name"]
    ),
    "CreateStorageInput.name": NameCase("createStorage", {"name": BAD, **STORAGE}, ["name"]),
    "CreateStorageConnectionInput.name": NameCase(
        "createStorageConnection", {"name": BAD, **STORAGE}, ["name"]
    ),
    "DiscoverRunInput.batch": NameCase(
        "discoverRun", {**RUN, "addedBy": "t", "batch": BAD}, ["batch"]
    ),
    "CreateRunConsumerInput.consumer": NameCase(
        "createRunConsumer",
        {"group": "/usa", "manifest": "loads", "consumer": BAD, "start": "NOW"},
        ["consumer"],
    ),
    "SetRunTagsInput.batch": NameCase("setRunTags", {**RUN, "tags": [], "batch": BAD}, ["batch"]),
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
    "SetVersionLabelInput.label": NameCase(
        "setVersionLabel", {"id": "pipeline", "version": 1, "label": BAD}, ["label"]
    ),
    "RenameArtistInput.name": NameCase("renameArtist", {"id": "artist", "name": BAD}, ["name"]),
    "RenameAlbumInput.name": NameCase("renameAlbum", {"id": "album", "name": BAD}, ["name"]),
    "RenameAlbumInput.artistName": NameCase(
        "renameAlbum", {"id": "album", "artistName": BAD}, ["artistName"]
    ),
    "RenameGenreInput.newName": NameCase(
        "renameGenre", {"name": "old", "newName": BAD}, ["newName"]
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
    {
        "group",
        "manifest",
        "runId",
        "objectKey",
        "cursors",
        "keyColumn",
        "keyColumns",
        "prefix",
        "keys",
    }
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
        "DeleteNgsiSamplesInput.entityId",
        "DeleteNgsiSamplesInput.entityType",
        "DeleteNgsiSamplesInput.service",
        "DeleteNgsiSamplesInput.servicePath",
        "TagFilter.withoutKeys",
        "UpdateGroupInput.path",
        "DatasetTargetInput.key",
        "EvaluateInput.label",
        "EvaluateInput.name",
        "EvaluatePipelineInput.label",
        "FailExecutionInput.code",
        "MeasureInput.as",
        "MetricInput.metric",
        "MetricInput.output",
        "MetricInput.pipeline",
        "MeasureInput.output",
        "RemoveVersionLabelInput.label",
        "RemoveRunConsumerInput.consumer",
        "RenameGenreInput.name",
        "RestoreVersionInput.label",
        "RowConditionInput.output",
        "RowsInput.key",
        "RowsInput.time",
        "MarkRunProcessedInput.shredTypes",
        "TrackFilterInput.albums",
        "TrackFilterInput.artists",
        "TrackFilterInput.genres",
        "TrackFilterInput.path",
        "TrackFilterInput.titleContains",
        "TrackFilterInput.titleStartsWith",
        "PlaylistRuleInput.seed",
        "NameFilter.contains",
        "NameFilter.startsWith",
        "RecoverRunInput.shredTypes",
    }
)
"""Names of what exists or is only answered, closed lists, and types of another program's data."""


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
        for noun in ("artist", "album"):
            (found,) = (await ask(f"{{ {noun}s {{ nodes {{ id }} }} }}")).value["nodes"]
            ids[noun] = found["id"]
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
        with patch.object(text, "INVISIBLE", re.compile("(?!)")):
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
        with patch.object(text, "INVISIBLE", re.compile("(?!)")):
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


WITHOUT_SHAPE = (
    *((0xAD, 0xAD), (0x34F, 0x34F), (0x61C, 0x61C), (0x115F, 0x1160), (0x17B4, 0x17B5)),
    *((0x180B, 0x180F), (0x200B, 0x200F), (0x202A, 0x202E), (0x2060, 0x206F), (0x3164, 0x3164)),
    *((0xFE00, 0xFE0F), (0xFEFF, 0xFEFF), (0xFFA0, 0xFFA0), (0xFFF0, 0xFFF8)),
    *((0x1BCA0, 0x1BCA3), (0x1D173, 0x1D17A), (0xE0000, 0xE0FFF)),
    *((0x2800, 0x2800), (0x16FE4, 0x16FE4), (0x1D159, 0x1D159)),
)
"""Unicode's Default_Ignorable_Code_Point, and signs that are drawn as nothing."""

SPELLINGS = ("{}", "pay{}", "pa{}y", "{}pay", "\u0431{}\u0430", "7{}", "{0}{0}", "\u2192{}\u2192")


def test_no_name_has_a_character_without_a_shape() -> None:
    for first, last in WITHOUT_SHAPE:
        for code in range(first, last + 1):
            for spelling in SPELLINGS:
                name = spelling.format(chr(code))
                assert invisible_character_problem(name) is not None, f"U+{code:04X}: {spelling}"
                assert replace_unprintable(name) == spelling.replace("{0}", "{}").replace("{}", "")


@pytest.mark.parametrize("sign", ["\ufdfa", "\u3300", "\u33c0\ufdfb", "\u1fb7\u0390"])
def test_a_new_name_is_not_far_longer_in_its_normal_form(sign: str) -> None:
    """Names are brought to it again and again, also those of a hundred things at once."""
    message = "has too many characters that stand for several letters"
    assert name_problem(sign * 100, 256) == message
    assert name_problem(sign, 256) is None
    for usual in ("Stra\u00dfe " * 30, "\uac01" * 256, "\u0390\u03b1" * 60, "wait \u2026 " * 30):
        assert name_problem(usual, 256) is None
    for fields in ({"title": sign * 100}, {"artists": ("Ada", sign * 100)}):
        assert [one.message for one in new_name_problems(fields)] == [message]


def test_nothing_takes_two_characters_without_a_shape_in_a_row() -> None:
    selectors = [0x180B, 0xFE00, 0xFE01, 0xFE0E, 0xFE0F, 0xE0100, 0xE01EF]
    for base in ("\u845b", "\u1820", "\u1000", "\u2764", "\U0001f600", "\uff01"):
        for first, second in itertools.product(selectors, repeat=2):
            assert invisible_character_problem(f"{base}{chr(first)}{chr(second)}") is not None


@pytest.mark.parametrize("selector", ["\ufe00", "\ufe01", "\ufe0e", "\ufe0f", "\U000e0100"])
def test_no_letter_of_an_alphabet_takes_a_selector(selector: str) -> None:
    alphabets = ("LATIN", "GREEK", "CYRILLIC", "HEBREW", "ARABIC", "DIGIT", "HANGUL", "HIRAGANA")
    for code in range(0x110000):
        name = unicodedata.name(chr(code), "")
        if name.startswith(alphabets) and chr(code).isalnum():
            assert invisible_character_problem(chr(code) + selector) is not None, name


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
    "1\ufe0f\u20e3",  # the key 1
    "\u2764\ufe0e",  # a heart of one colour
    "\u6f22\ufe00",  # an older shape of a Chinese letter
    "\u3002\ufe00",  # an ideographic stop in a corner
    "\u1000\ufe00",  # a dotted letter of Khamti
    "\ue000",  # private letters are drawn
    "\u2d4d\u2d7f\u2d4f",  # two letters of Tifinagh that are drawn as one
    "\U00011064\U0001107f\U00011053",  # a number of Brahmi
    "\U0001fae9",  # newer than Python's tables
)
BROKEN = (
    "a\u200cb",
    "a\u200db",
    "\u0645\u200c",
    "\u200c\u0645",
    "\u0645\u200c\u200c\u0645",
    "\U0001f468\u200d",
    "\u0662\u200d\u0660",  # digits of Arabic
    "\u0967\u200c\u0967",  # digits of Devanagari
    "\u0645\u200c\u0661",
    "\u060c\u200c\u061b",  # a comma and a semicolon
    "\u09f2\u200d\u09f3",  # signs of currencies
    "\u061c\u200d\u061c",
    "\u17b4\u200c\u17b5",
    "pay\u2d7fpal",
    "pay\U0001107fpal",
    "\u2d4d\u2d7f",
    "\U0001f3f4\U000e0067",
    "a\u180bb",
    "\u10d0\u200c\u10d0",
    "\u2192\u200d\u2192",
    "1\ufe0f",
    "\u2764\ufe0f\ufe0f",
    "\U0001f3f4\U000e0067\U000e0062\U000e0065\U000e006e\U000e0067",
    "\U0001f3f4\U000e0061\U000e0062\U000e0063\U000e007f",
    "\U0001f3f4\U000e0067\U000e0062\U000e0065\U000e006e\U000e0067\U000e007f\U000e007f",
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


SHAPELESS = [chr(code) for first, last in WITHOUT_SHAPE for code in range(first, last + 1)]
NEIGHBOURS = [
    *"a7#\u20e3\u0431\u0645\u0662\u0915\u094d\u1820\u1000\u845b\u2764\U0001f468\U0001f3f4"
]


@given(
    st.text(
        st.one_of(
            st.sampled_from(SHAPELESS),
            st.sampled_from("\u061c\u180b\u17b4\u200c\u200d\ufe0e\ufe0f\U000e0067\U000e007f"),
            st.sampled_from(NEIGHBOURS),
        ),
        max_size=12,
    )
)
@example("pay\u061c\u200d\u061cpal")
@example("a\ufe0f\u200d\u2764")
def test_what_is_left_of_a_tag_is_a_name_that_somebody_may_give(tag: str) -> None:
    left = replace_unprintable(tag)
    assert invisible_character_problem(left) is None
    assert replace_unprintable(left) == left


def test_the_growth_of_a_text_that_takes_long_to_normalise_is_not_measured(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def refuse(_text: str) -> str:
        raise AssertionError

    monkeypatch.setattr(text, "comparison_form", refuse)
    assert text.growth_problem("a" + "\u0323\u0301" * 1_250) is None
