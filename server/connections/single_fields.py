"""The fields that occur once in a head, and the one host that a request names."""

import re
from typing import Final

from penstock.server.connections.refusals import MALFORMED, RefusedRequest

# All of these are in lower case, as the head must be.
_SINGLE: Final = re.compile(
    rb"\r\n(host|content-type|authorization|origin|fiware-service|fiware-servicepath"
    rb"|ngsild-tenant):([^\r]*+)"
)
_HOST: Final = re.compile(
    rb"(?:\[[0-9a-f:.]++\]|[0-9a-z._~%!$&'()*+,;=-]*+)(?::([0-9]{0,5}+))?", re.ASCII
)
_AUTHORITY: Final = re.compile(rb"https?://([^/?#]*+)")
_LAST_PORT: Final = 65_535


def check_single_fields(lower: bytes) -> None:
    """Raise RefusedRequest if two programs could read different hosts, callers or tenants.

    One may take the first field of a name, and another the last (RFC 9112, 3.2). The application
    refuses a request without a host.
    """
    found = _SINGLE.findall(lower)
    fields = dict(found)
    if len(fields) < len(found):
        raise RefusedRequest(MALFORMED)
    host = fields.get(b"host", b"").strip(b" \t")
    target = lower.split(b" ", 2)[1]
    form = _HOST.fullmatch(host)
    if form is None or int(form[1] or 0) > _LAST_PORT:
        raise RefusedRequest(MALFORMED)
    if not target.startswith(b"/"):
        authority = _AUTHORITY.match(target)
        if target != b"*" and (authority is None or authority[1] != host):
            raise RefusedRequest(MALFORMED)
