"""Names that lead to nothing: which one is meant, and which group or tag is not there."""

from collections.abc import Iterable
from difflib import get_close_matches
from typing import Any, Final

from penstock.datastore.text import comparison_form
from penstock.server.commands.client.graphql_client import GraphQLClient
from penstock.server.commands.client.kinds import Noun, field_name
from penstock.server.core.command_output import CommandFailed

GROUP: Final = "query($path: GroupPath!) { group(path: $path) { path } }"
KEYS: Final = """query($kind: ResourceKind!, $group: GroupPath, $below: Boolean) {
  tagKeys(kind: $kind, group: $group, includeChildGroups: $below, first: 100) {
    nodes { key label } pageInfo { hasNextPage } } }"""
DEFAULT_GROUP: Final = "{ viewer { defaultGroup } }"
NAMES: Final = """query($group: GroupPath, $below: Boolean) {
  %ss(group: $group, includeChildGroups: $below, first: 100) { nodes { name } } }"""


async def require_group(client: GraphQLClient, path: str) -> None:
    """Raise CommandFailed for a group that is not there or out of sight."""
    if await client.execute(GROUP, path=path) is None:
        raise missing_group(path)


def missing_group(path: str) -> CommandFailed:
    """The failure for a group that is not there or out of sight."""
    return CommandFailed(f"There is no group {path}.")


async def suggest_name(
    client: GraphQLClient, noun: Noun, name: str, group: str | None, *, below: bool
) -> str:
    """Return the question for the name that is meant, of those listed first; else nothing."""
    found: Any = await client.execute(NAMES % field_name(noun), group=group, below=below)
    names = [node["name"] for node in found["nodes"]]
    # Letter case is no difference of names, so that another version or state of this one is missed.
    is_there = any(comparison_form(one) == comparison_form(name) for one in names)
    return "" if is_there else ask_for_nearest(name, names)


async def describe_missing_keys(
    client: GraphQLClient, kind: str, group: str | None, keys: Iterable[str], *, below: bool | None
) -> list[str]:
    """Return a sentence for each key that nothing in sight has, with the one that is meant."""
    found: Any = await client.execute(KEYS, kind=kind, group=group, below=below)
    if found["pageInfo"]["hasNextPage"]:
        return []
    known = {comparison_form(node["key"]): node["label"] for node in found["nodes"]}
    missing = [key for key in dict.fromkeys(keys) if comparison_form(key) not in known]
    if not missing:
        return []
    where = group or (await client.execute(DEFAULT_GROUP))["defaultGroup"]
    where = f"{where} and below" if below else where
    return [
        f"You see no tag {key!r} in {where}.{ask_for_nearest(key, known.values())}"
        for key in missing
    ]


def ask_for_nearest(name: str, known: Iterable[str]) -> str:
    """Return the question for the known name that is nearest; nothing if none is near."""
    folded = {one.casefold(): one for one in known}
    near = get_close_matches(name.casefold(), folded, n=1, cutoff=0.8)
    return f" Did you mean {folded[near[0]]!r}?" if near else ""
