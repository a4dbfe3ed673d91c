"""The answers about the root group do not depend on what other groups do.

The root is on one line with every group, so its things are the ones that strangers come near. All
fields are asked in two stores: one in which another tenant works, and one without that tenant.
"""

from pathlib import Path
from typing import Any

import pytest

from penstock.datastore.store import Store
from tests.datastore.ngsi.sample_destinations import open_embedded
from tests.datastore.ngsi.sample_sinks import notification, open_world
from tests.schema.test_callers_without_role import (
    KINDS,
    RUNS,
    World,
    cases,
    foreign_world,
    mutation,
)
from tests.support.consistency_check import contents
from tests.support.graphql_client import Ask, as_caller

ROOT_READER = as_caller("ann", "/=reader")
STRANGERS = {
    "reader of a group that is not there": as_caller("eve", "/none=reader"),
    "reader of another tree": as_caller("eve", "/eu=reader"),
    "reader below": as_caller("eve", "/eu/north=reader"),
}
RUN_FIELDS = "{ runId addedBy shredTypes savedTo history { nodes { action by } } }"
RUN_LISTS = [
    f'{{ runs(group: "/", manifest: "{name}", first: 100) {{ nodes {RUN_FIELDS} }} }}'
    for name in ("snow", "ngsi")
]
MORE = {
    "runs": RUN_LISTS,
    "manifests": ['{ manifests(group: "/") { nodes { name createdBy } } }'],
    "run": [f'{{ run(group: "/", manifest: "snow", runId: "theirs") {RUN_FIELDS} }}'],
    "group": ['{ group(path: "/") { path children { nodes { path } } } }'],
}
"""Documents about the root that show more than the ones of the walk."""

ENDS = "{ pageInfo { hasNextPage endCursor } nodes {"


async def root_world(ask: Ask) -> World:
    """Make the things of another tenant, and runs of the root that tell of it."""
    world = await foreign_world(ask)
    made = await ask.input(
        mutation("discoverRun", "DiscoverRunInput").replace("$in", "$input"),
        group="/",
        manifest="snow",
        runId="theirs",
        **RUNS["DiscoverRun"],
    )
    assert made["__typename"] == "DiscoverRunPayload"
    return world._replace(group="/")


async def answers(ask: Ask, world: World, stranger: str) -> dict[str, list[Any]]:
    """The answers of each field that a stranger gets to questions about the world."""
    documents = {
        field: [*found, *((document, {}) for document in MORE.get(field, []))]
        for field, found in cases(world).items()
    }
    return {
        field: [
            (answer.data, answer.errors)
            for document, variables in found
            for asked in [document.replace("{ nodes {", ENDS)]
            for answer in [await ask(asked, variables, STRANGERS[stranger])]
        ]
        for field, found in documents.items()
    }


@pytest.mark.thorough
@pytest.mark.parametrize("noun", KINDS)
@pytest.mark.parametrize("stranger", STRANGERS)
async def test_what_a_stranger_is_told_of_the_root_is_the_same_without_the_others(
    stranger: str, noun: str, store: Store, tmp_path: Path
) -> None:
    ask = Ask(store, noun)
    world = await root_world(ask)
    before = await contents(store.table)
    found = await answers(ask, world, stranger)
    assert await contents(store.table) == before
    (tmp_path / "without").mkdir()
    async with open_embedded(tmp_path / "without") as without:
        alone = Ask(without, noun)
        await alone.create_groups("/eu")
        assert found == await answers(alone, world, stranger)


async def test_the_sinks_runs_are_for_readers_of_the_root(store: Store, tmp_path: Path) -> None:
    ask, (_, sinks) = Ask(store), RUN_LISTS
    async with (
        open_world(store.table, store.ngsi_access.destinations, tmp_path) as world,
        world.open_sink() as sink,
    ):
        await sink.accept_notification(notification("car1"), 100)
        await world.wait_until_settled()
    (run,) = (await ask(sinks, {}, ROOT_READER)).value["nodes"]
    assert run["savedTo"]
    for stranger in STRANGERS.values():
        assert (await ask(sinks, {}, stranger)).code == "NOT_FOUND"
