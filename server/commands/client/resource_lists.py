"""The lists of resources with tags that commands print, and one of any kind."""

from collections.abc import Callable, Mapping, Sequence
from typing import Annotated, Any, TypeAlias

from cyclopts import Parameter

from penstock.server.commands.client.find_by_name import find_by_name
from penstock.server.commands.client.kinds import TaggedNoun, field_name, kind_name
from penstock.server.commands.client.listings import PageOptions, print_page
from penstock.server.commands.client.missed_names import describe_missing_keys
from penstock.server.commands.client.server_options import ServerOptions
from penstock.server.core.command_output import CommandFailed, CommandOutput, ExitCode

PrintResource: TypeAlias = Callable[[Mapping[str, Any]], CommandOutput]

COLUMNS = {"NAME": "name", "OWNER": "owner", "VERSION": "version", "STATE": "state", "TAGS": "tags"}

LIST = """query($group: GroupPath, $below: Boolean, $tags: TagFilter, $first: Int, $after: String) {
  %ss(group: $group, includeChildGroups: $below, tags: $tags, first: $first, after: $after) {
    nodes { id name owner version state tags { key value } }
    pageInfo { hasNextPage endCursor } } }"""

_GROUP_HELP = "Group to list. By default that of the profile or the token."
_FIND_HELP = "Group in which the name is looked up. By default that of the profile or the token."
_BELOW_HELP = "Also list those of the groups below."
_ALL_HELP = "Tags that all of them carry, such as scope=1; a value stands for those below it."
_ANY_HELP = "Tags of which each carries at least one. Can be given several times."
_NONE_HELP = "Tags of which none is carried. Can be given several times."

ListedGroup: TypeAlias = Annotated[str | None, Parameter(help=_GROUP_HELP)]
Below: TypeAlias = Annotated[bool, Parameter(help=_BELOW_HELP)]
AllTags: TypeAlias = Annotated[str, Parameter(help=_ALL_HELP)]
AnyTags: TypeAlias = Annotated[tuple[str, ...], Parameter(help=_ANY_HELP)]
NoTags: TypeAlias = Annotated[tuple[str, ...], Parameter(help=_NONE_HELP)]
SearchedGroup: TypeAlias = Annotated[str | None, Parameter(help=_FIND_HELP)]


async def list_resources(
    noun: TaggedNoun,
    server: ServerOptions,
    page: PageOptions,
    *,
    group: str | None,
    below: bool,
    tags: dict[str, Any] | None = None,
) -> CommandOutput:
    """Print a page of what the caller sees in a group, with `tags` only what carries them."""
    group = group or server.read_profile().group
    async with server.client() as client:
        found = await client.execute(
            LIST % field_name(noun), group=group, below=below, tags=tags, **page.variables()
        )
        none = [f"No {noun}."]
        if tags and not found["nodes"] and page.after is None:
            keys = [tag["key"] for name in ("all", "any") for tag in tags.get(name, ())]
            none += await describe_missing_keys(client, kind_name(noun), group, keys, below=below)
    return print_page(found, COLUMNS, " ".join(none))


async def show_resource(
    noun: TaggedNoun,
    server: ServerOptions,
    name: str,
    group: str | None,
    *,
    query: str,
    print_one: PrintResource,
) -> CommandOutput:
    """Print what a query reads of the one with a name or an id."""
    async with server.client() as client:
        id = await find_by_name(client, noun, name, group or server.read_profile().group)
        return print_one(await client.execute(query, id=id))


def make_tag_filter(
    all: Sequence[str], any: Sequence[str], none: Sequence[str]
) -> dict[str, list[dict[str, str]]]:
    """Make a filter of tags written as `key=value`; raises CommandFailed without any."""
    given = {"all": all, "any": any, "none": none}
    terms = {name: [*map(_parse_tag, texts)] for name, texts in given.items() if texts}
    if not terms:
        raise CommandFailed("Name a tag, such as scope=1.", code=ExitCode.USAGE)
    return terms


def _parse_tag(text: str) -> dict[str, str]:
    key, is_tag, value = text.partition("=")
    if not is_tag or not key:
        raise CommandFailed(f"{text!r} is no tag such as scope=1.", code=ExitCode.USAGE)
    return {"key": key, "value": value}
