"""The safeguards of a table against mistakes: point-in-time recovery and deletion protection."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Final, NamedTuple, TypeAlias

from penstock.datastore.dynamodb.wire import Raw
from penstock.datastore.errors import RequestRefused

TableCall: TypeAlias = Callable[[str, Raw], Awaitable[Raw]]
"""A call of an operation for one table, with more arguments."""

TRIES: Final = 60
PAUSE_SECONDS: Final = 1.0

_UNKNOWN: Final = frozenset({"UnknownOperationException", "UnsupportedOperationException"})
_NOT_YET: Final = "ContinuousBackupsUnavailableException"
_ON: Final[Raw] = {"PointInTimeRecoverySpecification": {"PointInTimeRecoveryEnabled": True}}


class Safeguards(NamedTuple):
    """The safeguards that are on; `recovery` is None where the store has no such thing."""

    recovery: bool | None
    protection: bool


async def switch_on_recovery(call: TableCall) -> None:
    """Switch on point-in-time recovery; stores other than AWS may not have it."""
    for _ in range(TRIES):
        try:
            await call("UpdateContinuousBackups", _ON)
        except RequestRefused as refused:
            if refused.code == _NOT_YET:
                # AWS prepares the backups of a new table for some seconds.
                await asyncio.sleep(PAUSE_SECONDS)
                continue
            if refused.code not in _UNKNOWN:
                raise
        return


async def read_safeguards(call: TableCall) -> Safeguards:
    """Read which safeguards are on. Raises RequestRefused without the permission."""
    described = (await call("DescribeTable", {}))["Table"]
    protection = bool(described.get("DeletionProtectionEnabled"))
    try:
        answer = await call("DescribeContinuousBackups", {})
    except RequestRefused as refused:
        if refused.code not in _UNKNOWN:
            raise
        return Safeguards(None, protection)
    found = answer["ContinuousBackupsDescription"].get("PointInTimeRecoveryDescription", {})
    return Safeguards(found.get("PointInTimeRecoveryStatus") == "ENABLED", protection)
