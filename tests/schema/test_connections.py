"""Every list of the schema, walked both ways a node at a time, and what its arguments may be."""

from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple

import pytest
from graphql import GraphQLObjectType

from datastore.access import Caller
from datastore.clock import canonical
from schema import schema
from schema.documents import core_schema
from tests.asking import NOUNS, ROOT, Answer, Ask, as_caller
from tests.schema.audio_lists import AUDIO_LISTS, audio_catalogue

PAGE = "first: $first, after: $after, last: $last, before: $before"
VARIABLES = "$first: Int, $after: String, $last: Int, $before: String"
CREATE_API_KEY = (
    "mutation($input: CreateApiKeyInput!) { createApiKey(input: $input) { __typename } }"
)
INFO = "pageInfo { hasNextPage hasPreviousPage startCursor endCursor }"
TAGS = "material=metal/steel", "material=metal/copper", "material=wood", "material=metal/steel"


class Listing(NamedTuple):
    """A list: where it lies, its own arguments, what tells its nodes, and all of them."""

    field: str
    path: tuple[str, ...]
    arguments: str
    shown: str
    nodes: list[Any]

    def document(self) -> str:
        *outer, field = self.path
        name = field.partition("(")[0]
        arguments = f"({self.arguments}{', ' * bool(self.arguments)}{PAGE})"
        edges = f"edges {{ cursor node {{ {self.shown} }} }} nodes {{ {self.shown} }}"
        text = f"list: {name}{arguments} {{ {edges} {INFO} }}"
        for around in reversed(outer):
            alias = "" if around.startswith("...") else "around: "
            text = f"{alias}{around} {{ {text} }}"
        return f"query({VARIABLES}) {{ {text} }}"


MIXED = 'tags: {all: [{key: "material", value: "metal"}], none: [{key: "x", value: "y"}]}'
ANY = 'tags: {any: [{key: "material", value: "wood"}, {key: "material", value: "metal/copper"}]}'
NAMED = 'pipelineByName(name: "p3", group: "/usa/west")'
LISTS = {
    "pipelines": Listing(
        "Query.pipelines",
        ("pipelines",),
        'group: "/usa/west"',
        "name",
        ["p4", "p3", "p2", "p1", "p0"],
    ),
    "oldest first": Listing(
        "Query.pipelines",
        ("pipelines",),
        'group: "/usa/west", order: OLDEST_FIRST',
        "name",
        ["p0", "p1", "p2", "p3", "p4"],
    ),
    "by tags": Listing(
        "Query.pipelines",
        ("pipelines",),
        f'group: "/usa/west", {MIXED}',
        "name",
        ["p3", "p1", "p0"],
    ),
    "by any tag": Listing(
        "Query.pipelines", ("pipelines",), f'group: "/usa/west", {ANY}', "name", ["p2", "p1"]
    ),
    "below": Listing(
        "Query.pipelines",
        ("pipelines",),
        'group: "/usa", includeChildGroups: true',
        "name",
        ["p5", "p4", "p3", "p2", "p1", "p0"],
    ),
    "everything": Listing(
        "Query.pipelines",
        ("pipelines",),
        'group: "/", includeChildGroups: true, order: OLDEST_FIRST',
        "name",
        ["p0", "p1", "p2", "p3", "p4", "p5"],
    ),
    "versions": Listing("Pipeline.versions", (NAMED, "versions"), "", "version", [3, 2, 1]),
    "calculations": Listing(
        "Query.calculations", ("calculations",), 'group: "/usa/west"', "name", ["c2", "p3", "c0"]
    ),
    "versions of a calculation": Listing(
        "Calculation.versions",
        ('calculationByName(name: "p3", group: "/usa/west")', "versions"),
        "",
        "version",
        [2, 1],
    ),
    "datasets": Listing(
        "Query.referenceDatasets",
        ("referenceDatasets",),
        'group: "/usa/west", tags: {all: [{key: "scope", value: "1"}]}',
        "name",
        ["c2", "p3", "c0"],
    ),
    "versions of a dataset": Listing(
        "ReferenceDataset.versions",
        ('referenceDatasetByName(name: "p3", group: "/usa/west")', "versions"),
        "",
        "version",
        [2, 1],
    ),
    "children": Listing(
        "Group.children",
        ('group(path: "/usa")', "children"),
        "",
        "path",
        ["/usa/east", "/usa/west", "/usa/west coast"],
    ),
    "tag keys": Listing(
        "Query.tagKeys",
        ("tagKeys",),
        'kind: PIPELINE, group: "/usa/west"',
        "key",
        ["k%2", "k: 1", "material", "scope"],
    ),
    "tag values": Listing(
        "Query.tagValues",
        ("tagValues",),
        'kind: PIPELINE, key: "material", group: "/usa/west"',
        "value",
        ["metal", "wood"],
    ),
    "tag values below": Listing(
        "Query.tagValues",
        ("tagValues",),
        'kind: PIPELINE, key: "material", parent: "metal", group: "/usa/west"',
        "value",
        ["metal/copper", "metal/steel"],
    ),
    "api keys": Listing("Viewer.apiKeys", ("viewer", "apiKeys"), "", "name", ["k2", "k1", "k0"]),
    **{name: Listing(*row) for name, row in AUDIO_LISTS.items()},
}


async def catalogue(ask: Ask) -> None:
    """Pipelines p0 to p5, granted in turn to a group and to the one above it; calculations."""
    await ask.grow("/usa", "/usa/west", "/usa/east", "/usa/west coast")
    for n, tag in enumerate(TAGS):
        more = ["scope=1", "k: 1=#a", "k%2=b:c"][:n]
        await ask.make(("/usa", "/usa/west")[n % 2], f"p{n}", tag, *more)
    await ask.make("/usa", "p4")
    await ask.make("/usa/east", "p5")
    for version in (1, 2):
        found = await ask('{ pipelineByName(name: "p3", group: "/usa/west") { id } }')
        await ask.change(found.value["id"], version, description=f"{version}")
    for noun in NOUNS[1:]:
        of = Ask(ask.store, noun)
        made = [await of.make("/usa", name, "scope=1") for name in ("c0", "p3", "c2")]
        await of.change(made[1], 1, description="changed")
    until = canonical(datetime.now(UTC) + timedelta(days=1))
    for n in range(3):
        roles = [{"group": "/usa", "role": "READER"}]
        await ask.input(CREATE_API_KEY, name=f"k{n}", roles=roles, expiresAt=until)
    await audio_catalogue(ask.store)


async def asked(ask: Ask, name: str, caller: Caller = ROOT, **arguments: Any) -> Answer:
    return await ask(LISTS[name].document(), arguments, caller)


async def page(ask: Ask, name: str, **arguments: Any) -> tuple[list[Any], dict[str, Any]]:
    """What tells the nodes of a page, and where the page lies; its two forms say the same."""
    found = (await asked(ask, name, **arguments)).data
    listed = found.get("around", found)["list"]
    told = [*(edge["node"] for edge in listed["edges"])]
    assert told == listed["nodes"]
    info, cursors = listed["pageInfo"], [edge["cursor"] for edge in listed["edges"]]
    assert len({*cursors}) == len(cursors)
    if cursors:
        assert (info["startCursor"], info["endCursor"]) == (cursors[0], cursors[-1])
    return [value for node in told for value in node.values()], info


def test_every_list_of_the_schema_is_walked() -> None:
    fields = {
        f"{type.name}.{name}"
        for type in core_schema(schema).type_map.values()
        if isinstance(type, GraphQLObjectType)
        for name, field in type.fields.items()
        if str(field.type).removesuffix("!").endswith("Connection")
    }
    assert fields == {listing.field for listing in LISTS.values()}


@pytest.mark.parametrize("name", LISTS)
async def test_a_list_is_walked_both_ways_a_node_at_a_time(name: str, ask: Ask) -> None:
    await catalogue(ask)
    nodes = LISTS[name].nodes
    assert await page(ask, name) == (nodes, (await page(ask, name))[1])
    after = before = None
    for n, node in enumerate(nodes):
        found, info = await page(ask, name, first=1, after=after)
        assert found == [node]
        assert info["hasNextPage"] is (n + 1 < len(nodes))
        assert info["hasPreviousPage"] is (n > 0)
        after = info["endCursor"]
    for n, node in enumerate(reversed(nodes)):
        found, info = await page(ask, name, last=1, before=before)
        assert found == [node]
        assert info["hasPreviousPage"] is (n + 1 < len(nodes))
        assert info["hasNextPage"] is (n > 0)
        before = info["startCursor"]
    assert await page(ask, name, first=1, after=after) == (
        [],
        {
            "hasNextPage": False,
            "hasPreviousPage": True,
            "startCursor": None,
            "endCursor": after,
        },
    )


@pytest.mark.parametrize("name", LISTS)
async def test_a_page_of_two_ends_with_the_list(name: str, ask: Ask) -> None:
    await catalogue(ask)
    nodes = LISTS[name].nodes
    found, info = await page(ask, name, first=2)
    assert (found, info["hasNextPage"]) == (nodes[:2], len(nodes) > 2)
    found, info = await page(ask, name, last=2)
    assert (found, info["hasPreviousPage"]) == (nodes[-2:], len(nodes) > 2)
    found, info = await page(ask, name, first=len(nodes))
    assert (found, info["hasNextPage"], info["hasPreviousPage"]) == (nodes, False, False)


BAD: dict[str, dict[str, Any]] = {
    "first of 0": {"first": 0},
    "first of 101": {"first": 101},
    "last of 0": {"last": 0},
    "last of 101": {"last": 101},
    "negative": {"first": -1},
    "both": {"first": 1, "last": 1},
    "before without last": {"before": "cursor"},
    "after with last": {"last": 1, "after": "cursor"},
    "no cursor": {"after": "cursor"},
    "empty cursor": {"after": ""},
    "no base64": {"after": "ä"},
    "long cursor": {"after": "A" * 5000},
}


@pytest.mark.parametrize("bad", BAD)
async def test_arguments_that_cannot_mean_anything_are_refused_by_every_list(
    bad: str, ask: Ask
) -> None:
    await catalogue(ask)
    for name in LISTS:
        (error,) = (await asked(ask, name, **BAD[bad])).errors
        assert error["extensions"]["code"] == "BAD_USER_INPUT", name


async def test_a_cursor_opens_only_in_the_list_and_for_the_caller_that_it_was_made_for(
    ask: Ask,
) -> None:
    await catalogue(ask)
    other = as_caller("other", "/=admin")
    for name in LISTS:
        cursor = (await page(ask, name, first=1))[1]["endCursor"]
        for elsewhere in LISTS:
            errors = (await asked(ask, elsewhere, first=1, after=cursor)).errors
            codes = [error["extensions"]["code"] for error in errors]
            assert codes == ([] if elsewhere == name else ["BAD_USER_INPUT"]), elsewhere
        told = await asked(ask, name, other, first=1, after=cursor)
        assert told.errors or told.data == {"around": None}, name


async def test_what_comes_and_goes_between_pages_neither_hides_nor_repeats_the_rest(
    ask: Ask,
) -> None:
    await catalogue(ask)
    found, info = await page(ask, "oldest first", first=2)
    assert found == ["p0", "p1"]
    for name in ("p1", "p2"):
        id = (await ask(f'{{ pipelineByName(name: "{name}", group: "/usa/west") {{ id }} }}')).value
        gone = "mutation($i: DeletePipelineInput!) { deletePipeline(input: $i) { __typename } }"
        assert (await ask(gone, {"i": id})).value == {"__typename": "DeletePipelinePayload"}
    await ask.make("/usa", "p6")
    rest, _ = await page(ask, "oldest first", first=10, after=info["endCursor"])
    assert rest == ["p3", "p4", "p6"]


async def test_page_sizes_of_1_and_100_are_fine_and_20_is_meant_without_one(ask: Ask) -> None:
    await ask.grow("/usa", "/usa/west")
    for n in range(21):
        await ask.make("/usa", f"p{n}")
    sizes = [
        len((await page(ask, "pipelines", **arguments))[0]) for arguments in ({}, {"first": 100})
    ]
    assert sizes == [20, 21]
    assert len((await page(ask, "pipelines", last=1))[0]) == 1
