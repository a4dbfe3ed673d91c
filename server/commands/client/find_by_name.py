"""Finds a resource by its global id or its name, in the groups that the caller sees."""

from collections.abc import Sequence
from typing import Any

from penstock.datastore.text import say_count
from penstock.server.commands.client.graphql_client import AnsweredError, GraphQLClient
from penstock.server.commands.client.kinds import Noun, field_name, type_name
from penstock.server.commands.client.missed_names import require_group, suggest_name
from penstock.server.core.command_output import CommandFailed

MOST_GROUPS = 200
"""Most groups in which a name is looked up."""

_NOT_THERE = ("NOT_FOUND", "BAD_USER_INPUT")

FIND = "query($name: String!, $group: GroupPath) { %sByName(name: $name, group: $group) { id } }"
NODE = "query($id: ID!) { node(id: $id) { ...on %s { id } } }"
ROLES = "{ viewer { defaultGroup roles { group } } }"
CHILDREN = """query($path: GroupPath!, $after: String) { group(path: $path) {
  children(first: 100, after: $after) { nodes { path } pageInfo { hasNextPage endCursor } } } }"""


async def find_by_name(client: GraphQLClient, noun: Noun, name: str, group: str | None) -> str:
    """Return the global id of what has the name.

    Without a group, the name is looked up in the caller's default group, then in the groups of
    the caller's roles and in those below them. Raises CommandFailed, which says where it looked,
    or which groups have one of that name.
    """
    if group is not None:
        return await _find_in_group(client, noun, name, group)
    viewer = await client.execute(ROLES)
    first = viewer["defaultGroup"]
    if first is not None and (found := await _find(client, noun, name, first)):
        return found
    tops = [role["group"] for role in viewer["roles"]]
    groups = [path for path in await _groups_below(client, tops) if path != first]
    found_in = {path: id for path in groups if (id := await _find(client, noun, name, path))}
    if (found := _choose(noun, name, found_in) or await _find_by_id(client, noun, name)) is None:
        hint = await suggest_name(client, noun, name, tops[0], below=True) if tops else ""
        raise _nothing_found(noun, name, [first, *groups], hint)
    return found


async def _find_in_group(client: GraphQLClient, noun: Noun, name: str, group: str) -> str:
    found = await _find(client, noun, name, group) or await _find_by_id(client, noun, name)
    if found is None:
        await require_group(client, group)
        hint = await suggest_name(client, noun, name, group, below=False)
        raise _nothing_found(noun, name, [group], hint)
    return found


async def _find(client: GraphQLClient, noun: Noun, name: str, group: str) -> str | None:
    try:
        found = await client.execute(FIND % field_name(noun), name=name, group=group)
    except AnsweredError as error:
        if error.error_code in _NOT_THERE:
            return None
        raise
    return None if found is None else str(found["id"])


async def _find_by_id(client: GraphQLClient, noun: Noun, id: str) -> str | None:
    # A global id is a name that nothing has.
    found: Any = await client.execute(NODE % type_name(noun), id=id)
    return str(found["id"]) if found else None


def _nothing_found(noun: Noun, name: str, groups: Sequence[str | None], hint: str) -> CommandFailed:
    looked = [path for path in groups if path is not None]
    return CommandFailed(f"There is no {noun} {name!r} in {_name_some(looked)}.{hint}")


def _choose(noun: Noun, name: str, found: dict[str, str]) -> str | None:
    """Return the only one found; what several groups see is the same one."""
    if len({*found.values()}) <= 1:
        return next(iter(found.values()), None)
    words = f"Several {noun}s are named {name!r}: choose one by --group {' or '.join(found)}."
    raise CommandFailed(words)


async def _groups_below(client: GraphQLClient, tops: list[str]) -> list[str]:
    """Return groups and all below them, each once, at most MOST_GROUPS."""
    found = list(dict.fromkeys(tops))
    for path in found:
        after = None
        while len(found) < MOST_GROUPS:
            page = await client.execute(CHILDREN, path=path, after=after)
            children = page and page["children"]
            if not children:
                break
            found += [node["path"] for node in children["nodes"] if node["path"] not in found]
            if not children["pageInfo"]["hasNextPage"]:
                break
            after = children["pageInfo"]["endCursor"]
    return found[:MOST_GROUPS]


def _name_some(paths: list[str]) -> str:
    shown = ", ".join(paths[:5])
    if len(paths) > 5:
        return f"{shown} and {say_count(len(paths) - 5, 'other group')}"
    return shown or "any group"
