"""The fields that occur once in a head, and the one host that a request names."""

import re
from collections.abc import Mapping, Sequence
from typing import Final

from penstock.server.connections.refusals import MALFORMED, RefusedRequest

SINGLE_FIELDS: Final = (
    b"host",
    b"content-type",
    b"authorization",
    b"origin",
    b"fiware-service",
    b"fiware-servicepath",
    b"ngsild-tenant",
)
_HOST: Final = re.compile(
    rb"(?:\[[0-9a-f:.]++\]|[0-9a-z._~%!$&'()*+,;=-]*+)(?::([0-9]{0,5}+))?", re.ASCII
)
_AUTHORITY: Final = re.compile(rb"https?://([^/?#]*+)")
_LAST_PORT: Final = 65_535


def check_single_fields(
    found: Sequence[tuple[bytes, bytes]], fields: Mapping[bytes, bytes], target: bytes
) -> None:
    """Raise RefusedRequest if two programs could read different hosts, callers or tenants.

    `found` are the names and values that a head in lower case has, `fields` the last value of each
    name. One program may take the first field of a name, and another the last (RFC 9112, 3.2). The
    application refuses a request without a host.
    """
    if len(fields) < len(found):
        _check_repeats([name for name, _ in found])
    host = fields.get(b"host", b"").strip(b" \t")
    form = _HOST.fullmatch(host)
    if form is None or int(form[1] or 0) > _LAST_PORT:
        raise RefusedRequest(MALFORMED)
    if not target.startswith(b"/"):
        authority = _AUTHORITY.match(target)
        if target != b"*" and (authority is None or authority[1] != host):
            raise RefusedRequest(MALFORMED)


def _check_repeats(names: Sequence[bytes]) -> None:
    if any(names.count(name) > 1 for name in SINGLE_FIELDS):
        raise RefusedRequest(MALFORMED)
