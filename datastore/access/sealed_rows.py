"""The rows that hold a secret of a user, sealed by a vault for its owner and its row alone."""

from dataclasses import dataclass
from typing import Final

from penstock.datastore.access.vault import SecretContext
from penstock.datastore.table.layout import CONNECTION, PLAYER_PASSWORD, Row
from penstock.datastore.table.port import Key
from penstock.datastore.text import unescape

SEALED: Final = "sealed"
"""The attribute that is the sealed secret."""


@dataclass(frozen=True, slots=True)
class SealedRow:
    """A row of a user with a secret; `part` of its sort key is the id of the thing."""

    row: Row
    part: str
    purpose: str

    def context(self, user: str, id: str) -> SecretContext:
        """The encryption context that binds a secret to its owner and its thing."""
        return {"owner": user, self.part: id, "purpose": self.purpose}


CONNECTION_KEYS: Final = SealedRow(CONNECTION, "connection", "penstock audio connection")
PLAYER_SECRET: Final = SealedRow(PLAYER_PASSWORD, "password", "penstock player password")

_ROWS: Final = (CONNECTION_KEYS, PLAYER_SECRET)


def sealing_context(key: Key) -> SecretContext | None:
    """The context of the secret in the row of a key; None for a row that has none."""
    for sealed in _ROWS:
        if sealed.row.holds(key):
            user = unescape(sealed.row.pk.parse(key.pk)["user"])
            return sealed.context(user, unescape(sealed.row.sk.parse(key.sk)[sealed.part]))
    return None
