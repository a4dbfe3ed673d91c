"""Users' secrets under a new key: each is opened by the key before, and sealed by the new one."""

from collections.abc import AsyncIterator
from contextlib import suppress
from enum import Enum
from typing import Final

from penstock.datastore.access.sealed_rows import SEALED, sealing_context
from penstock.datastore.access.vault import RenewedVault, SecretContext, TamperedSecret
from penstock.datastore.errors import Unavailable
from penstock.datastore.table.commit import Attempts
from penstock.datastore.table.items import read_rows
from penstock.datastore.table.layout import LIBRARY
from penstock.datastore.table.port import (
    Attributes,
    Compare,
    ConditionFailed,
    Key,
    Scan,
    Table,
    Update,
    key_of,
)

PAGE_SIZE: Final = 100


class ResealOutcome(Enum):
    """The end of a secret: it has the new key now, had it before, or no key opens it."""

    RESEALED = "resealed"
    UNCHANGED = "unchanged"
    LOST = "lost"


async def reseal_secrets(table: Table, vault: RenewedVault) -> AsyncIterator[ResealOutcome]:
    """Seal every secret of the table by the vault's current key; yield what became of each.

    It can be repeated, and servers go on meanwhile: a secret that a user replaces or deletes in
    between stays as the user left it, under whichever key a server knew.
    """
    last: Key | None = None
    while True:
        page = await table.scan(Scan(prefix=LIBRARY.pk.prefix({}), after=last, limit=PAGE_SIZE))
        for row in page.items:
            context = sealing_context(key_of(row))
            if context is not None and SEALED in row:
                yield await _reseal(table, vault, row, context)
        if (last := page.last) is None:
            return


async def _reseal(
    table: Table, vault: RenewedVault, row: Attributes, context: SecretContext
) -> ResealOutcome:
    key = key_of(row)
    async for _ in Attempts():
        sealed = str(row[SEALED])
        with suppress(TamperedSecret):
            await vault.current.open(sealed, context)
            return ResealOutcome.UNCHANGED
        try:
            secret = await vault.open(sealed, context)
        except TamperedSecret:
            return ResealOutcome.LOST
        renewed = {SEALED: await vault.seal(secret, context)}
        unchanged = Compare(SEALED, "=", sealed)
        try:
            await table.transact([Update(key=key, set=renewed, condition=unchanged)])
        except ConditionFailed:
            row = (await read_rows(table, [key], consistent=True)).get(key, {})
            if SEALED not in row:
                return ResealOutcome.UNCHANGED
        else:
            return ResealOutcome.RESEALED
    raise Unavailable("A secret is being replaced by many at once.")
