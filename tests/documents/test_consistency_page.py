"""The operations and the numbers of docs/consistency.md, behind reads that never show a write."""

import re
from pathlib import Path
from typing import Any

import pytest

from penstock.datastore.store import Store
from tests.support.graphql_client import UPDATE, Ask
from tests.support.stores import open_table
from tests.support.table_interceptors import LaggingTable

PAGE = (Path(__file__).parents[2] / "docs" / "consistency.md").read_text()
MUTATION, QUERY = re.findall(r"```graphql\n(.*?)```", PAGE, re.DOTALL)
COSTS = {
    "a pipeline by its id": "query($id: ID!) { pipeline(id: $id) { name } }",
    "a pipeline by its id, and its version": """query($id: ID!) { pipeline(id: $id) { name
      versions { nodes { version } } } }""",
    "20 pipelines of a group": """query { pipelines(group: "/usa") { nodes { name } } }""",
    "20 pipelines of all groups": """query { pipelines(group: "/", includeChildGroups: true) {
      nodes { name } } }""",
    "20 pipelines by a tag": """query { pipelines(group: "/usa", tags: {all: [
      {key: "a", value: "b"}]}) { nodes { name } } }""",
}


async def test_a_list_shows_what_the_token_names(store: Store, tmp_path: Path) -> None:
    async with open_table("sqlite", tmp_path) as replica:
        lagging = LaggingTable(store.table, replica)
        ask = Ask(Store(lagging))
        await ask.create_groups("/usa")
        await lagging.catch_up()
        made = await ask(MUTATION)
        assert made.value["pipeline"]["id"]
        assert made.token is not None
        shown = await ask(QUERY, token=made.token)
        trips = {"nodes": [{"name": "Trips"}]}
        counted = {"nodes": [{"key": "fleet", "count": 1}]}
        everything = {"inGroup": trips, "everywhere": trips, "byTag": trips, "tagKeys": counted}
        assert shown.data == everything
        none: dict[str, list[Any]] = {"nodes": []}
        assert (await ask(QUERY)).data == dict.fromkeys(everything, none)


def told_costs() -> dict[str, tuple[float, float]]:
    """Return the costs that the page tells, by what is read."""
    rows = re.findall(r"^\| ([^|]*) \| ([\d.]+) \| ([\d.]+) \|$", PAGE, re.MULTILINE)
    return {read: (float(without), float(with_token)) for read, without, with_token in rows}


async def test_the_page_tells_what_reads_cost(store: Store) -> None:
    ask = Ask(store)
    await ask.create_groups("/usa")
    ids = [await ask.make("/usa", f"number {n}", "a=b") for n in range(20)]
    client = Ask(store, tokens=[])
    for id in ids[:2]:
        updated = await client.input(UPDATE, id=id, expectedVersion=1, description="new")
        assert updated["pipeline"]["version"] == 2
    told = told_costs()
    assert told.keys() == COSTS.keys()
    for read, document in COSTS.items():
        costs = []
        for asked in (ask, client):
            answer = await asked(document, {"id": ids[-1]} if "$id" in document else None)
            assert answer.errors == ()
            costs.append(answer.units.rcu)
        assert (read, *costs) == (read, *told[read])


@pytest.mark.parametrize("name", ["API_KEY_CACHE_SECONDS", "CHANGE_POLL_SECONDS"])
def test_the_page_names_settings_that_exist(name: str) -> None:
    settings = (Path(__file__).parents[2] / "docs" / "settings.md").read_text()
    assert f"PENSTOCK_{name}" in settings
    assert f"PENSTOCK_{name}" in PAGE
