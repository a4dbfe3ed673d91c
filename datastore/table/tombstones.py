"""The mark of rows whose deletion has begun: they are gone for everybody but the deletion."""

from typing import Final, TypeGuard

from penstock.datastore.table.port import Attributes, Exists, Missing

DELETED_AT: Final = "deletedAt"

NOT_DELETED: Final = Missing(DELETED_AT)
IS_ALIVE: Final = (Exists(), NOT_DELETED)
"""The conditions that a row is there, and not marked."""


def is_alive(row: Attributes | None) -> TypeGuard[Attributes]:
    """Whether a row is there, and not marked."""
    return row is not None and DELETED_AT not in row
