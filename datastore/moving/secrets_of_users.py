"""Users' secrets on the way from one vault to another: keys of buckets, passwords of players."""

from dataclasses import dataclass

from penstock.datastore.access.sealed_rows import SEALED, sealing_context
from penstock.datastore.access.vault import TamperedSecret, Vault
from penstock.datastore.table.port import Item, Key, key_of


@dataclass(slots=True)
class SecretCarrier:
    """Opens secrets by one vault and seals them by another, each for the same context.

    Both vaults are asked only for rows with secrets. A secret that its vault cannot open stays as
    it is and counts as `lost`.
    """

    source: Vault
    target: Vault
    lost: int = 0

    @staticmethod
    def concerns(pk: str, sk: str) -> bool:
        """Whether a row of this key can have a secret."""
        return sealing_context(Key(pk, sk)) is not None

    async def carry(self, item: Item) -> Item:
        """The row, with its secret sealed by the target. Raises Unavailable without a vault."""
        sealed, context = item.get(SEALED), sealing_context(key_of(item))
        if not isinstance(sealed, str) or context is None:
            return item
        try:
            secret = await self.source.open(sealed, context)
        except TamperedSecret:
            self.lost += 1
            return item
        return {**item, SEALED: await self.target.seal(secret, context)}
