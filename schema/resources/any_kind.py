"""The ids of resources of any kind, as mutations that take them all read them."""

from typing import Any, Final

from penstock.datastore.errors import NotFound
from penstock.datastore.table.layout import KINDS, KindDefinition
from penstock.schema.core.relay import parse_global_id

RESOURCE_ID: Final = "The global id of a pipeline, calculation, reference dataset or metric."


def find_kind(text: str) -> tuple[KindDefinition[Any], str]:
    """Return the kind and the key of a global id; raises NotFound for another id."""
    id = parse_global_id(text)
    kind = next((one for one in KINDS if id is not None and one.title == id.type), None)
    if id is None or kind is None:
        raise NotFound("There is no resource with this id.", ("id",))
    return kind, id.key
