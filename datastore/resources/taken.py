"""What a caller is told of a name that is taken: where it is held, as far as they see."""

from penstock.datastore.errors import NameTaken
from penstock.datastore.keys import unescape
from penstock.datastore.layout import NAME
from penstock.datastore.paths import ROOT, GroupPath, ancestors
from penstock.datastore.resources.scope import Scope
from penstock.datastore.table import Query, Range
from penstock.datastore.text import comparison_form


async def told(scope: Scope, taken: NameTaken, id: str) -> NameTaken:
    """The failure of the resource `id`, which wanted a name that another holds."""
    return _shown(scope, await _located(scope, taken, id))


async def _located(scope: Scope, taken: NameTaken, id: str) -> NameTaken:
    """Find out where below the marked group another than `id` holds the name, if still so."""
    if taken.holder is not None:
        return taken
    below = ROOT if taken.group == ROOT else f"{taken.group}/"
    top = NAME.key(kind=taken.kind, name=comparison_form(taken.name), group=GroupPath(below))
    page = await scope.table.query(Query(partition=top.pk, range=Range(top.sk)))
    for item in page.items:
        if item.get("id") not in (None, id):
            group = unescape(NAME.sk.read(str(item["sk"]))["group"])
            return NameTaken(taken.kind, taken.name, group, str(item["id"]))
    return taken


def _shown(scope: Scope, taken: NameTaken) -> NameTaken:
    """What the caller may know: not who holds the name in a group that they do not see."""
    line = reversed(ancestors(GroupPath(taken.group)))
    nearest = next(group for group in line if scope.caller.sees(group))
    if nearest == taken.group:
        return taken
    return NameTaken(taken.kind, taken.name, nearest, None)
