"""The documents that may be named, as the settings choose them."""

import msgspec

from penstock.schema.persisted import Persisted, PersistedMode
from penstock.server.settings import InvalidSettings, Settings


def persisted_of(settings: Settings) -> Persisted:
    """Read the trusted documents if there are to be any; raises InvalidSettings for an odd file."""
    mode = PersistedMode(settings.persisted_queries)
    if settings.trusted_documents is None:
        return Persisted(mode)
    try:
        texts = settings.trusted_documents.read_bytes()
        return Persisted(mode, msgspec.json.decode(texts, type=dict[str, str]))
    except OSError as error:
        reason = error.strerror or "cannot be read"
    except msgspec.DecodeError as error:
        reason = f"is no JSON object from ids to texts: {error}"
    problem = f"PENSTOCK_TRUSTED_DOCUMENTS: {settings.trusted_documents}: {reason}"
    raise InvalidSettings((problem,))
