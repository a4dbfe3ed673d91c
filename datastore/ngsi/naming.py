"""Names of destinations: which table an entity's updates are stored in."""

import re
from base64 import b32encode
from hashlib import sha256
from typing import Final, NamedTuple

from penstock.datastore.errors import LimitExceeded
from penstock.datastore.ngsi.encoding import CONCATENATOR, Encoding, encode
from penstock.datastore.ngsi.options import DataModel, LongNames, Naming

MIN_NAME: Final = 3
MAX_NAME: Final = 255

_KEPT = 200
_HASH = 26
_NAME = re.compile(rf"[A-Za-z0-9_.-]{{{MIN_NAME},{MAX_NAME}}}")


class Place(NamedTuple):
    """What a destination is named after: an entity, of a service path, of a service.

    It is the notified one unless mappings or grouping rules say otherwise.
    """

    service: str
    path: str
    entity_id: str
    entity_type: str


def table_name(place: Place, naming: Naming) -> str:
    """Name the destination of a place: 3 to 255 letters, digits, `_`, `-` and `.`.

    A longer name is cut and ends in a hash of the whole; where those are to be refused, it raises
    LimitExceeded.
    """
    name = full_name(place, naming)
    if len(name) <= MAX_NAME:
        return name
    if naming.long_names is LongNames.REJECT:
        raise LimitExceeded("characters of a table's name", MAX_NAME, len(name))
    return hashed(name, name)


def full_name(place: Place, naming: Naming) -> str:
    """Name it, whatever the length."""
    encoding = naming.encoding
    parts = [encode(place.service, encoding), encode(place.path, encoding)]
    if naming.data_model is DataModel.BY_ENTITY:
        parts.append(_entity(place, encoding))
    name = CONCATENATOR.join(parts)
    return name.lower() if naming.enable_lowercase else name


def told_apart(place: Place, naming: Naming) -> str:
    """Name a destination whose ordinary name belongs to another place already."""
    return hashed(full_name(place, naming), repr((*place, naming.data_model.value)))


def hashed(name: str, whole: str) -> str:
    """Keep the start of a name and tell it from others by a hash of the whole."""
    digest = b32encode(sha256(whole.encode()).digest()).decode().lower()
    return f"{name[:_KEPT]}-{digest[:_HASH]}"


def is_table_name(text: str) -> bool:
    """Whether DynamoDB takes the text for the name of a table."""
    return _NAME.fullmatch(text) is not None


def _entity(place: Place, encoding: Encoding) -> str:
    """Encode id and type; the documented rule encodes them joined by `=`, which becomes the same.

    Of the two, an empty one leaves no trace.
    """
    given = [part for part in (place.entity_id, place.entity_type) if part]
    if encoding is Encoding.CYGNUS:
        return encode("=".join(given), encoding)
    return CONCATENATOR.join(encode(part, encoding) for part in given)
