"""Users' secrets on the way from one vault to another: those of bucket connections."""

from dataclasses import dataclass

from penstock.datastore.access.vault import TamperedSecret, Vault
from penstock.datastore.audio.connections import SEALED, sealing_context
from penstock.datastore.table.layout import CONNECTION
from penstock.datastore.table.port import Item
from penstock.datastore.text import unescape

_USERS = f"{CONNECTION.pk.leader}:"
_CONNECTIONS = f"{CONNECTION.sk.leader}:"


@dataclass(frozen=True, slots=True)
class SecretCarrier:
    """Opens secrets by one vault and seals them by another, each for the same context.

    Both vaults are asked only for rows with secrets. A secret that its vault cannot open stays as
    it is: it is lost, but it was lost before.
    """

    source: Vault
    target: Vault

    @staticmethod
    def concerns(pk: str, sk: str) -> bool:
        """Whether a row of this key can have a secret."""
        return pk.startswith(_USERS) and sk.startswith(_CONNECTIONS)

    async def carry(self, item: Item) -> Item:
        """The row, with its secret sealed by the target. Raises Unavailable without a vault."""
        sealed = item.get(SEALED)
        if not isinstance(sealed, str):
            return item
        context = sealing_context(
            unescape(CONNECTION.pk.parse(str(item["pk"]))["user"]),
            unescape(CONNECTION.sk.parse(str(item["sk"]))["connection"]),
        )
        try:
            secret = await self.source.open(sealed, context)
        except TamperedSecret:
            return item
        return {**item, SEALED: await self.target.seal(secret, context)}
