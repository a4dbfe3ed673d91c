"""A mutation that does not find what an id names reports the field that holds the id."""

from collections.abc import AsyncIterator
from typing import Any

import pytest
from graphql import GraphQLInputObjectType, get_named_type

from penstock.schema import schema
from penstock.schema.engine.documents import core_schema
from tests.datastore.ngsi.sample_destinations import open_embedded
from tests.schema.audio.sample_playlists import global_id, make_playlist
from tests.support.consistency_check import contents
from tests.support.graphql_client import CONTENT, Ask

ABSENT = "01a1fd33-4531-77f0-8555-cdb912a93fef"
REFERENCES: dict[str, tuple[str, dict[str, Any]]] = {
    "AddAudioInput.storageId": ("Storage", {"objectKey": "a.mp3"}),
    "AddPlaylistEntriesInput.after": ("", {"id": "list", "audioIds": ["song"]}),
    "AddPlaylistEntriesInput.audioIds": ("Audio", {"id": "list"}),
    "CreateExecutionInput.pipelineId": ("Pipeline", {}),
    "DatasetContentInput.upload": ("", {"columns": CONTENT["columns"]}),
    "ImportAudioInput.storageId": ("Storage", {}),
    "DeleteDeadLettersInput.ids": ("", {}),
    "MergeAlbumInput.into": ("Album", {"id": "album"}),
    "MovePlaylistEntriesInput.after": ("", {"id": "list", "entryIds": ["entry"]}),
    "MovePlaylistEntriesInput.entryIds": ("", {"id": "list"}),
    "RemovePlaylistEntriesInput.entryIds": ("", {"id": "list"}),
    "ReplayDeadLettersInput.ids": ("", {}),
    "SavePlayQueueInput.audioIds": ("Audio", {"index": 0}),
    "WithdrawRowsInput.executionId": ("Execution", {"pipelineId": "pipeline", "reason": "wrong"}),
    "WithdrawRowsInput.pipelineId": ("Pipeline", {"keys": [["a"]], "reason": "wrong"}),
}
"""Each field of an input that names another object: the type of its global ids, and its input."""


def test_every_reference_of_the_schema_is_walked() -> None:
    fields = {
        f"{type.name}.{name}"
        for type in core_schema(schema).type_map.values()
        if isinstance(type, GraphQLInputObjectType)
        for name, field in type.fields.items()
        if get_named_type(field.type).name == "ID" and name not in {"id", "idempotencyKey"}
    }
    assert fields == REFERENCES.keys()


@pytest.fixture(scope="module")
async def listener(
    tmp_path_factory: pytest.TempPathFactory,
) -> AsyncIterator[tuple[Ask, dict[str, str]]]:
    """Make a playlist with a track; return their ids."""
    async with open_embedded(tmp_path_factory.mktemp("references")) as store:
        ask = Ask(store)
        await ask.create_groups("/usa")
        made = await make_playlist(ask, "mix", "one", "two")
        album = (await ask("{ albums { nodes { id } } }")).value["nodes"][0]["id"]
        yield (
            ask,
            {
                "album": album,
                "list": made["id"],
                "song": made["audio"][0],
                "entry": made["entries"][0],
                "pipeline": await ask.make("/usa", "keeper"),
            },
        )


FORMS = ("absent", "malformed", "foreign")
WALKED = [
    (place, form)
    for place in REFERENCES
    for form in FORMS
    # A queue may name tracks that were deleted.
    if (place, form) != ("SavePlayQueueInput.audioIds", "absent")
]


@pytest.mark.parametrize(("place", "form"), WALKED)
async def test_a_reference_to_nothing_is_reported_at_its_own_field(
    place: str, form: str, listener: tuple[Ask, dict[str, str]]
) -> None:
    ask, ids = listener
    type, more = REFERENCES[place]
    name, _, field = place.partition(".")
    absent = global_id(type, ABSENT) if type else ABSENT
    id = {"absent": absent, "malformed": "?", "foreign": global_id("Job", ABSENT)}[form]
    many = field.endswith("s")
    input = {key: _with_ids(value, ids) for key, value in more.items()}
    input[field] = [id] if many else id
    mutation, path = name[0].lower() + name[1:].removesuffix("Input"), [field]
    if name == "DatasetContentInput":
        mutation, path = "createReferenceDataset", ["content", "upload"]
        input = {"name": "d", "group": "/usa", "content": input}
    title = f"{mutation[0].upper()}{mutation[1:]}"
    document = f"""mutation($input: {title}Input!) {{ {mutation}(input: $input) {{
      __typename ...on UserError {{ code path }} }} }}"""
    before = await contents(ask.store.table)
    answer = await ask.input(document, **input)
    assert answer["code"] in {"NOT_FOUND", "BAD_USER_INPUT"}, answer
    assert answer["path"][: len(path)] == path
    assert await contents(ask.store.table) == before


def _with_ids(value: Any, ids: dict[str, str]) -> Any:
    if isinstance(value, list):
        return [_with_ids(one, ids) for one in value]
    return ids.get(value, value) if isinstance(value, str) else value
