"""`penstock calculations`: lists calculations, finds them by tags, shows one."""

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

SHOW = """query($id: ID!) { calculation(id: $id) {
  id name description summary formula parameters { key type } outputs { key type }
  owner groups state version labels { label version } tags { key value }
  createdAt createdBy updatedAt updatedBy } }"""

_NAME_HELP = "Name or id of the calculation."

calculations = App(name="calculations", help="List calculations, find them by tags, show one.")


@calculations.command(name="list")
def list_calculations(
    *,
    group: ListedGroup = None,
    below: Below = False,
    page: PageOptions = FIRST_PAGE,
    server: ServerOptions = LOCAL_SERVER,
) -> CommandOutput:
    """List the calculations of a group: its own, and those that are granted to it."""
    return asyncio.run(list_resources("calculation", server, page, group=group, below=below))


@calculations.command(name="find", usage="penstock calculations find [OPTIONS] [TAGS...]")
def find_calculations(
    *tags: AllTags,
    any: AnyTags = (),
    none: NoTags = (),
    group: ListedGroup = None,
    below: Below = False,
    page: PageOptions = FIRST_PAGE,
    server: ServerOptions = LOCAL_SERVER,
) -> CommandOutput:
    """List the calculations of a group that carry all of some tags."""
    wanted = make_tag_filter(tags, any, none)
    listed = list_resources("calculation", server, page, group=group, below=below, tags=wanted)
    return asyncio.run(listed)


@calculations.command(name="show")
def show_calculation(
    calculation: Annotated[str, Parameter(help=_NAME_HELP)],
    /,
    *,
    group: SearchedGroup = None,
    server: ServerOptions = LOCAL_SERVER,
) -> CommandOutput:
    """Show a calculation, given by name or id."""
    return asyncio.run(show_resource("calculation", server, calculation, group, SHOW))
