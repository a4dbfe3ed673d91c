"""Tenants of NGSI-LD as services: each has a service that no `Fiware-Service` can name."""

import re
from collections.abc import Mapping
from enum import StrEnum
from typing import Final

from penstock.datastore.errors import BadArgument

TENANT_HEADER: Final = "ngsild-tenant"
SERVICE_HEADER: Final = "fiware-service"
TENANT_PREFIX: Final = "ngsild:"
"""The start of a tenant's service; a `Fiware-Service` has no colon."""

MAX_TENANT: Final = 50

_TENANT = re.compile(rf"(?!\.+\Z)[A-Za-z0-9_.:-]{{1,{MAX_TENANT}}}")


class Tenants(StrEnum):
    """The choice whether a tenant is the FIWARE service of the same name, or one of its own."""

    APART = "apart"
    SERVICES = "services"


def tenant_service(headers: Mapping[str, str], tenants: Tenants) -> str | None:
    """Return the service of the tenant that the headers name; None if they name no tenant.

    Raises BadArgument if the name is not valid, or if a `Fiware-Service` names something else.
    """
    tenant = headers.get(TENANT_HEADER)
    if tenant is None:
        return None
    if any(value != tenant for name, value in headers.items() if name == TENANT_HEADER):
        raise BadArgument("There are several NGSILD-Tenant headers: send one.")
    if not _TENANT.fullmatch(tenant):
        raise BadArgument(
            f"A NGSILD-Tenant has 1 to {MAX_TENANT} letters, digits, '_', '-', '.' and ':', "
            "and is not dots alone."
        )
    service = tenant if tenants is Tenants.SERVICES else TENANT_PREFIX + tenant
    if headers.get(SERVICE_HEADER) not in (None, service):
        raise BadArgument("NGSILD-Tenant and Fiware-Service name different services: send one.")
    return service
