"""Receipts of notifications: what is sent twice is stored once, and counted as sent twice."""

from collections.abc import Sequence
from datetime import timedelta
from typing import Final

from penstock.datastore.clock import Clock
from penstock.datastore.commit import Write
from penstock.datastore.layout import NOTIFIED
from penstock.datastore.ngsi.notification import Notification
from penstock.datastore.resources.rows import read_rows
from penstock.datastore.table import TTL, AnyOf, Compare, Item, Missing, Put, Table

REMEMBERED: Final = timedelta(hours=24)


class Repeated(Exception):
    """A notification that is to be stored was stored meanwhile, by another server."""


def receipt(notification: Notification, clock: Clock) -> Write:
    """Remember a notification for a day, in the transaction that keeps it."""
    now = clock.now()
    item: Item = {
        **NOTIFIED.item(id=notification.identity),
        TTL: int((now + REMEMBERED).timestamp()),
    }
    free = AnyOf((Missing(), Compare(TTL, "<", int(now.timestamp()))))
    return Write(Put(item, free), lambda _: Repeated())


async def repeated(table: Table, clock: Clock, notifications: Sequence[Notification]) -> list[bool]:
    """Tell which notifications were received before, also earlier in this sequence."""
    keys = {
        each.identity: NOTIFIED.key(id=each.identity) for each in notifications if each.repeatable
    }
    rows = await read_rows(table, keys.values(), consistent=True)
    now = int(clock.now().timestamp())
    seen = {
        identity
        for identity, key in keys.items()
        if key in rows and int(str(rows[key][TTL])) >= now
    }
    found = []
    for each in notifications:
        found.append(each.identity in seen)
        if each.repeatable:
            seen.add(each.identity)
    return found
