"""The commands for a kind of resource with tags: they list it, find it by tags, and show one."""

import asyncio
from typing import Annotated

from cyclopts import App, Parameter

from penstock.server.commands.client.kinds import TaggedNoun
from penstock.server.commands.client.listings import FIRST_PAGE, PageOptions
from penstock.server.commands.client.resource_lists import (
    AllTags,
    AnyTags,
    Below,
    ListedGroup,
    NoTags,
    PrintResource,
    SearchedGroup,
    list_resources,
    make_tag_filter,
    show_resource,
)
from penstock.server.commands.client.server_options import LOCAL_SERVER, ServerOptions
from penstock.server.core.command_output import CommandOutput


def define_commands(noun: TaggedNoun, query: str, print_one: PrintResource) -> App:
    """Define the commands for a kind; `query` reads what is shown of one, by its `$id`."""
    kind = App(name=f"{noun}s", help=f"List {noun}s, find them by tags, show one.")
    listed = f"List the {noun}s of a group: its own, and those that are granted to it."
    found = f"List the {noun}s of a group that carry all of some tags."
    usage = f"penstock {noun}s find [OPTIONS] [TAGS...]"
    named = Parameter(name=noun.upper(), help=f"Name or id of the {noun}.")

    @kind.command(name="list", help=listed)
    def list_all(
        *,
        group: ListedGroup = None,
        below: Below = False,
        page: PageOptions = FIRST_PAGE,
        server: ServerOptions = LOCAL_SERVER,
    ) -> CommandOutput:
        return asyncio.run(list_resources(noun, server, page, group=group, below=below))

    @kind.command(name="find", help=found, usage=usage)
    def find(
        *tags: AllTags,
        any: AnyTags = (),
        none: NoTags = (),
        group: ListedGroup = None,
        below: Below = False,
        page: PageOptions = FIRST_PAGE,
        server: ServerOptions = LOCAL_SERVER,
    ) -> CommandOutput:
        wanted = make_tag_filter(tags, any, none)
        return asyncio.run(
            list_resources(noun, server, page, group=group, below=below, tags=wanted)
        )

    @kind.command(name="show", help=f"Show a {noun}, given by name or id.")
    def show(
        resource: Annotated[str, named],
        /,
        *,
        group: SearchedGroup = None,
        server: ServerOptions = LOCAL_SERVER,
    ) -> CommandOutput:
        shown = show_resource(noun, server, resource, group, query=query, print_one=print_one)
        return asyncio.run(shown)

    return kind
