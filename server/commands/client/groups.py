"""`penstock groups`: lists the groups that the caller sees, and shows one."""

import asyncio
from typing import Annotated

from cyclopts import App, Parameter

from penstock.server.commands.client.listings import (
    FIRST_PAGE,
    PageOptions,
    print_fields,
    print_page,
)
from penstock.server.commands.client.missed_names import missing_group
from penstock.server.commands.client.server_options import LOCAL_SERVER, ServerOptions
from penstock.server.core.command_output import CommandOutput

COLUMNS = {
    "PATH": "path",
    "STATE": "state",
    "TAGS": "tags",
    "CREATED": "createdAt",
    "BY": "createdBy",
}

ROLES = "{ viewer { userId defaultGroup roles { group role } } }"
CHILDREN = """query($path: GroupPath!, $first: Int, $after: String) { group(path: $path) {
  children(first: $first, after: $after) {
    nodes { path state tags { key value } createdAt createdBy }
    pageInfo { hasNextPage endCursor } } } }"""
SHOW = """query($path: GroupPath!) { group(path: $path) {
  id path name description state disabledThrough tags { key value }
  createdAt createdBy parent { path } } }"""

_PARENT_HELP = "Path of the group above those to list, such as /usa."
_PATH_HELP = "Path of the group, such as /usa/northwest."

groups = App(name="groups", help="List groups, show one.")


@groups.command(name="list", usage="penstock groups list [OPTIONS] [PATH]")
def list_groups(
    path: Annotated[str | None, Parameter(help=_PARENT_HELP)] = None,
    /,
    *,
    page: PageOptions = FIRST_PAGE,
    server: ServerOptions = LOCAL_SERVER,
) -> CommandOutput:
    """List the groups directly below a path; without one, the groups of the caller's roles."""
    return asyncio.run(_list(server, page, path))


@groups.command(name="show")
def show_group(
    path: Annotated[str, Parameter(help=_PATH_HELP)],
    /,
    *,
    server: ServerOptions = LOCAL_SERVER,
) -> CommandOutput:
    """Show a group."""
    return asyncio.run(_show(server, path))


async def _list(server: ServerOptions, page: PageOptions, path: str | None) -> CommandOutput:
    async with server.client() as client:
        if path is None:
            viewer = await client.execute(ROLES)
            connection = {"nodes": viewer["roles"], **_LAST}
            return print_page(connection, {"PATH": "group", "ROLE": "role"}, "No role.")
        found = await client.execute(CHILDREN, path=path, **page.variables())
    if found is None:
        raise missing_group(path)
    return print_page(found["children"], COLUMNS, f"No group below {path}.")


_LAST = {"pageInfo": {"hasNextPage": False, "endCursor": None}}


async def _show(server: ServerOptions, path: str) -> CommandOutput:
    async with server.client() as client:
        found = await client.execute(SHOW, path=path)
    if found is None:
        raise missing_group(path)
    return print_fields(found)
