"""The lists of tags in use, by the kind of resource."""

from collections.abc import Mapping
from enum import StrEnum
from typing import Any, Final

from penstock.datastore.layout import KINDS, Kind
from penstock.datastore.resources.tag_lists import TagLists
from penstock.resolvers.context import Context


class ResourceKind(StrEnum):
    """A kind of resource, by the letter of its rows."""

    PIPELINE = "P"
    CALCULATION = "C"
    REFERENCE_DATASET = "D"


_KINDS: Final[Mapping[str, Kind[Any]]] = {kind.letter: kind for kind in KINDS}


def tag_lists(context: Context, kind: ResourceKind) -> TagLists:
    """The lists of the tags in use on resources of a kind."""
    return context.view.of(_KINDS[kind]).tags
