"""`penstock pipelines`: lists the pipelines that the caller sees, finds them by tags, shows one."""

import asyncio
from typing import Annotated

from cyclopts import App, Parameter

from penstock.server.commands.client.listings import FIRST_PAGE, PageOptions
from penstock.server.commands.client.resource_lists import (
    AllTags,
    AnyTags,
    Below,
    ListedGroup,
    NoTags,
    SearchedGroup,
    list_resources,
    make_tag_filter,
    show_resource,
)
from penstock.server.commands.client.server_options import LOCAL_SERVER, ServerOptions
from penstock.server.core.command_output import CommandOutput

SHOW = """query($id: ID!) { pipeline(id: $id) {
  id name description owner groups state version labels { label version } tags { key value }
  createdAt createdBy updatedAt updatedBy attributes } }"""

_NAME_HELP = "Name or id of the pipeline."

pipelines = App(name="pipelines", help="List pipelines, find them by tags, show one.")


@pipelines.command(name="list")
def list_pipelines(
    *,
    group: ListedGroup = None,
    below: Below = False,
    page: PageOptions = FIRST_PAGE,
    server: ServerOptions = LOCAL_SERVER,
) -> CommandOutput:
    """List the pipelines of a group: its own, and those that are granted to it."""
    return asyncio.run(list_resources("pipeline", server, page, group=group, below=below))


@pipelines.command(name="find", usage="penstock pipelines find [OPTIONS] [TAGS...]")
def find_pipelines(
    *tags: AllTags,
    any: AnyTags = (),
    none: NoTags = (),
    group: ListedGroup = None,
    below: Below = False,
    page: PageOptions = FIRST_PAGE,
    server: ServerOptions = LOCAL_SERVER,
) -> CommandOutput:
    """List the pipelines of a group that carry all of some tags."""
    wanted = make_tag_filter(tags, any, none)
    listed = list_resources("pipeline", server, page, group=group, below=below, tags=wanted)
    return asyncio.run(listed)


@pipelines.command(name="show")
def show_pipeline(
    pipeline: Annotated[str, Parameter(help=_NAME_HELP)],
    /,
    *,
    group: SearchedGroup = None,
    server: ServerOptions = LOCAL_SERVER,
) -> CommandOutput:
    """Show a pipeline, given by name or id."""
    return asyncio.run(show_resource("pipeline", server, pipeline, group, SHOW))
