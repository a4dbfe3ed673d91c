"""A failure about a list of ids names the positions of the ids that lead to nothing."""

from collections.abc import Iterator
from typing import Any

import pytest
from graphql import GraphQLInputObjectType, GraphQLObjectType, build_schema, get_named_type

from penstock.schema import sdl
from tests.datastore.ngsi.stored_samples import store_dead_letter
from tests.schema.audio.sample_playlists import ABSENT, global_id, make_playlist
from tests.support.consistency_check import contents
from tests.support.graphql_client import Ask

FAILURE = "__typename ...on NotFound { code message path positions }"
NO_AUDIO = global_id("Audio", ABSENT)


def lists_of_ids() -> Iterator[tuple[str, str]]:
    """Yield each mutation with each list of ids in its input."""
    mutations = build_schema(sdl()).mutation_type
    assert isinstance(mutations, GraphQLObjectType)
    for name, field in mutations.fields.items():
        for argument in field.args.values():
            kind = get_named_type(argument.type)
            if isinstance(kind, GraphQLInputObjectType):
                yield from (
                    (name, key) for key, each in kind.fields.items() if "[ID!]" in str(each.type)
                )


def document_of(mutation: str) -> str:
    title = mutation[0].upper() + mutation[1:]
    return f"mutation($input: {title}Input!) {{ {mutation}(input: $input) {{ {FAILURE} }} }}"


async def cases(ask: Ask) -> dict[tuple[str, str], tuple[dict[str, Any], list[int]]]:
    made = await make_playlist(ask, "Mix", "a", "b")
    (first, second), (entry, other), id = made["audio"], made["entries"], made["id"]
    letter = await store_dead_letter(ask.store)
    tracks = [first, NO_AUDIO, second, "no id", NO_AUDIO]
    return {
        ("addPlaylistEntries", "audioIds"): (
            {"id": id, "audioIds": [first, NO_AUDIO, second, NO_AUDIO]},
            [1, 3],
        ),
        ("deleteDeadLetters", "ids"): (
            {"ids": [letter, ABSENT, letter, "no id", global_id("Audio", first)]},
            [1, 3, 4],
        ),
        ("movePlaylistEntries", "entryIds"): (
            {"id": id, "entryIds": [ABSENT, entry, "x"], "after": other},
            [0, 2],
        ),
        ("removePlaylistEntries", "entryIds"): ({"id": id, "entryIds": [entry, ABSENT]}, [1]),
        ("replayDeadLetters", "ids"): (
            {"ids": [letter, ABSENT, letter, "no id", global_id("Audio", first)]},
            [1, 3, 4],
        ),
        ("savePlayQueue", "audioIds"): ({"audioIds": [*tracks, made["id"]]}, [3, 5]),
    }


async def test_every_list_of_ids_has_its_missing_ids_named(ask: Ask) -> None:
    found = await cases(ask)
    assert found.keys() == set(lists_of_ids())
    before = await contents(ask.store.table)
    for (mutation, field), (given, positions) in found.items():
        title = mutation[0].upper() + mutation[1:]
        document = (
            f"mutation($input: {title}Input!) {{ {mutation}(input: $input) {{ {FAILURE} }} }}"
        )
        failed = await ask.input(document, **given)
        assert (failed["code"], failed["path"], failed["positions"]) == (
            "NOT_FOUND",
            [field],
            positions,
        )
        shown = ", ".join(map(str, positions))
        assert failed["message"].endswith(f"at these positions, from 0: {shown}.")
    assert await contents(ask.store.table) == before


@pytest.mark.parametrize(("count", "shown"), [(11, "9 and 1 more"), (98, "9 and 88 more")])
async def test_a_long_list_is_named_within_bounds(ask: Ask, count: int, shown: str) -> None:
    made = await make_playlist(ask, "Mix")
    document = document_of("addPlaylistEntries")
    failed = await ask.input(document, id=made["id"], audioIds=[NO_AUDIO] * count)
    assert failed["positions"] == list(range(count))
    assert failed["message"].endswith(f"{shown}.")
    failed = await ask.input(document_of("savePlayQueue"), audioIds=["x"] * 500)
    assert failed["positions"] == list(range(100))


async def test_a_missing_entry_to_go_behind_is_named_by_its_own_field(ask: Ask) -> None:
    made = await make_playlist(ask, "Mix", "a")
    for mutation, ids in (
        ("movePlaylistEntries", {"entryIds": made["entries"]}),
        ("addPlaylistEntries", {"audioIds": made["audio"]}),
    ):
        title = mutation[0].upper() + mutation[1:]
        document = (
            f"mutation($input: {title}Input!) {{ {mutation}(input: $input) {{ {FAILURE} }} }}"
        )
        failed = await ask.input(document, id=made["id"], after=ABSENT, **ids)
        assert (failed["path"], failed["positions"]) == (["after"], [])
