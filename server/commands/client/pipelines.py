"""`penstock pipelines`: lists the pipelines that the caller sees, finds them by tags, shows one."""

import asyncio
from typing import Annotated, Any

from cyclopts import App, Parameter

from penstock.server.commands.client.find_by_name import find_by_name
from penstock.server.commands.client.listings import (
    FIRST_PAGE,
    PageOptions,
    print_fields,
    print_page,
)
from penstock.server.commands.client.server_options import LOCAL_SERVER, ServerOptions
from penstock.server.core.command_output import CommandFailed, CommandOutput, ExitCode

COLUMNS = {"NAME": "name", "OWNER": "owner", "VERSION": "version", "STATE": "state", "TAGS": "tags"}

LIST = """query($group: GroupPath, $below: Boolean, $tags: TagFilter, $first: Int, $after: String) {
  pipelines(group: $group, includeChildGroups: $below, tags: $tags, first: $first, after: $after) {
    nodes { id name owner version state tags { key value } }
    pageInfo { hasNextPage endCursor } } }"""
SHOW = """query($id: ID!) { pipeline(id: $id) {
  id name description owner groups state version labels { label version } tags { key value }
  createdAt createdBy updatedAt updatedBy attributes } }"""

_GROUP_HELP = "Group whose pipelines to list. By default that of the profile or the token."
_FIND_HELP = "Group in which the name is looked up. By default that of the profile or the token."
_NAME_HELP = "Name or id of the pipeline."
_BELOW_HELP = "Also list those of the groups below."
_ALL_HELP = "Tags that a pipeline must all carry, such as scope=1; a value stands for those below."
_ANY_HELP = "Tags of which a pipeline must carry at least one. Can be given several times."
_NONE_HELP = "Tags of which a pipeline may carry none. Can be given several times."

pipelines = App(name="pipelines", help="List pipelines, find them by tags, show one.")


@pipelines.command(name="list")
def list_pipelines(
    *,
    group: Annotated[str | None, Parameter(help=_GROUP_HELP)] = None,
    below: Annotated[bool, Parameter(help=_BELOW_HELP)] = False,
    page: PageOptions = FIRST_PAGE,
    server: ServerOptions = LOCAL_SERVER,
) -> CommandOutput:
    """List the pipelines of a group: its own, and those that are granted to it."""
    return asyncio.run(_list(server, page, group, below, None))


@pipelines.command(name="find", usage="penstock pipelines find [OPTIONS] [TAGS...]")
def find_pipelines(
    *tags: Annotated[str, Parameter(help=_ALL_HELP)],
    any: Annotated[tuple[str, ...], Parameter(help=_ANY_HELP)] = (),
    none: Annotated[tuple[str, ...], Parameter(help=_NONE_HELP)] = (),
    group: Annotated[str | None, Parameter(help=_GROUP_HELP)] = None,
    below: Annotated[bool, Parameter(help=_BELOW_HELP)] = False,
    page: PageOptions = FIRST_PAGE,
    server: ServerOptions = LOCAL_SERVER,
) -> CommandOutput:
    """List the pipelines of a group that carry all of some tags."""
    given = {"all": tags, "any": any, "none": none}
    terms = {name: [*map(_parse_tag, texts)] for name, texts in given.items() if texts}
    if not terms:
        raise CommandFailed("Name a tag, such as scope=1.", code=ExitCode.USAGE)
    return asyncio.run(_list(server, page, group, below, terms))


@pipelines.command(name="show")
def show_pipeline(
    pipeline: Annotated[str, Parameter(help=_NAME_HELP)],
    /,
    *,
    group: Annotated[str | None, Parameter(help=_FIND_HELP)] = None,
    server: ServerOptions = LOCAL_SERVER,
) -> CommandOutput:
    """Show a pipeline, given by name or id."""
    return asyncio.run(_show(server, pipeline, group))


async def _list(
    server: ServerOptions,
    page: PageOptions,
    group: str | None,
    below: bool,
    tags: dict[str, Any] | None,
) -> CommandOutput:
    group = group or server.read_profile().group
    async with server.client() as client:
        found = await client.execute(LIST, group=group, below=below, tags=tags, **page.variables())
    return print_page(found, COLUMNS, "No pipeline.")


async def _show(server: ServerOptions, pipeline: str, group: str | None) -> CommandOutput:
    async with server.client() as client:
        id = await find_by_name(client, "pipeline", pipeline, group or server.read_profile().group)
        return print_fields(await client.execute(SHOW, id=id))


def _parse_tag(text: str) -> dict[str, str]:
    key, is_tag, value = text.partition("=")
    if not is_tag or not key:
        raise CommandFailed(f"{text!r} is no tag such as scope=1.", code=ExitCode.USAGE)
    return {"key": key, "value": value}
