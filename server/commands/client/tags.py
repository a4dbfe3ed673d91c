"""`penstock tags`: lists the tags in use, with the number of resources that carry them."""

import asyncio
from typing import Annotated, Any

from cyclopts import App, Parameter

from penstock.server.commands.client.kinds import TaggedNoun, kind_name
from penstock.server.commands.client.listings import FIRST_PAGE, PageOptions, print_page
from penstock.server.commands.client.missed_names import describe_missing_keys
from penstock.server.commands.client.server_options import LOCAL_SERVER, ServerOptions
from penstock.server.core.command_output import CommandOutput

KEYS = """query($kind: ResourceKind!, $group: GroupPath, $first: Int, $after: String) {
  tagKeys(kind: $kind, group: $group, first: $first, after: $after) {
    nodes { key label count } pageInfo { hasNextPage endCursor } } }"""
VALUES = """query($kind: ResourceKind!, $key: String!, $parent: String, $group: GroupPath,
    $first: Int, $after: String) {
  tagValues(kind: $kind, key: $key, parent: $parent, group: $group, first: $first, after: $after) {
    nodes { key value label count hasChildren } pageInfo { hasNextPage endCursor } } }"""

_KIND_HELP = "What carries the tags."
_PARENT_HELP = "List the values directly below this one."
_KEY_HELP = "Key whose values to list, such as material. By default the keys are listed."
_GROUP_HELP = "Group that sees the resources. By default that of the profile or the token."

tags = App(name="tags", help="List the tags in use.")


@tags.command(name="list", usage="penstock tags list [OPTIONS] [KEY]")
def list_tags(
    key: Annotated[str | None, Parameter(help=_KEY_HELP)] = None,
    /,
    *,
    below: Annotated[str | None, Parameter(help=_PARENT_HELP)] = None,
    kind: Annotated[TaggedNoun, Parameter(help=_KIND_HELP)] = "pipeline",
    group: Annotated[str | None, Parameter(help=_GROUP_HELP)] = None,
    page: PageOptions = FIRST_PAGE,
    server: ServerOptions = LOCAL_SERVER,
) -> CommandOutput:
    """List the values of a tag's key; without a key, list the keys."""
    chosen = {"kind": kind_name(kind), "group": group or server.read_profile().group}
    if key is not None:
        chosen |= {"key": key, "parent": below}
    return asyncio.run(_list(server, page, chosen))


async def _list(server: ServerOptions, page: PageOptions, chosen: dict[str, Any]) -> CommandOutput:
    key, none = chosen.get("key"), ["No tag."]
    query, title = (KEYS, "KEY") if key is None else (VALUES, "VALUE")
    async with server.client() as client:
        found = await client.execute(query, **chosen, **page.variables())
        if key is not None and not found["nodes"] and page.after is None:
            kind, group = chosen["kind"], chosen["group"]
            none += await describe_missing_keys(client, kind, group, [key], below=None)
    return print_page(found, {title: "label", "COUNT": "count"}, " ".join(none))
