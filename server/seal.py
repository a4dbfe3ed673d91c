"""The seal of cursors, which every process of an installation has in common."""

from hashlib import sha256

from penstock.schema.cursors import Cursors
from penstock.server.settings import Settings


def cursors_of(settings: Settings) -> Cursors:
    """Seal cursors alike in every process of one installation.

    Cursors carry no authority: a position is only ever looked up within what its caller may see.
    The seal keeps clients from building on their form.
    """
    return Cursors(sha256(f"cursors of {settings.table}".encode()).digest())
