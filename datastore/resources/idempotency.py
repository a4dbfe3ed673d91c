"""Idempotency keys: a create that is sent twice happens once, by the receipt of the first call."""

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from hashlib import sha256
from typing import Any

import msgspec

from penstock.datastore.access.access import Access
from penstock.datastore.errors import FieldProblem, Invalid, PenstockError
from penstock.datastore.table.commit import Write
from penstock.datastore.table.layout import IDEMPOTENCY
from penstock.datastore.table.port import TTL, AnyOf, Attributes, Compare, Item, Missing, Put
from penstock.datastore.text import line_problem

WINDOW = timedelta(hours=24)
MAX_KEY = 128


class RepeatedCall(Exception):
    """The same call succeeded before; `id` is the resource that it created."""

    def __init__(self, id: str) -> None:
        super().__init__(id)
        self.id = id


@dataclass(frozen=True, slots=True)
class Receipt:
    """The id that a call would create, and its input; `place` is the group or resource it is in.

    `noted` are attributes that the row keeps beside, for whoever reads it with `find_receipt`.
    """

    kind: str
    id: str
    place: str
    content: Mapping[str, Any]
    noted: Attributes = field(default_factory=dict)

    def write(self, access: Access, key: str) -> Write:
        """Write the receipt under the caller's key for a day."""
        now = access.clock.now()
        item: Item = {
            **self.noted,
            **IDEMPOTENCY.item(user=access.caller.user_id, key=key),
            "id": self.id,
            "digest": self._digest(),
            TTL: int((now + WINDOW).timestamp()),
        }
        free = AnyOf((Missing(), Compare(TTL, "<", int(now.timestamp()))))
        return Write(Put(item, free), self._refusal)

    async def find_repetition(self, access: Access, key: str) -> None:
        """Raise RepeatedCall if an earlier call with the key has succeeded, or Invalid."""
        standing = await find_receipt(access, key)
        if standing is not None:
            raise self._refusal(dict(standing))

    def _digest(self) -> str:
        """A digest that is equal for equal inputs, whatever the order of their fields."""
        text = msgspec.json.encode([self.kind, self.place, self.content], order="sorted")
        return sha256(text).hexdigest()

    def _refusal(self, standing: Item | None) -> Exception:
        if standing is not None and standing["digest"] == self._digest():
            return RepeatedCall(str(standing["id"]))
        return Invalid([FieldProblem(["idempotencyKey"], "was used with another input")])


@asynccontextmanager
async def repeated_on_failure(
    receipt: Receipt, access: Access, key: str | None
) -> AsyncIterator[None]:
    """Raise RepeatedCall in place of a failure if an earlier call with the key has succeeded.

    What that call did may be why this one fails: the version is another, and there is no room.
    """
    try:
        yield
    except RepeatedCall:
        raise
    except PenstockError:
        if key is not None:
            await receipt.find_repetition(access, key)
        raise


async def find_receipt(access: Access, key: str) -> Attributes | None:
    """The receipt of a call of the caller that succeeded with this key within a day."""
    row = IDEMPOTENCY.key(user=access.caller.user_id, key=key)
    standing = (await access.table.get([row], consistent=True)).items.get(row)
    now = int(access.clock.now().timestamp())
    return None if standing is None or int(str(standing[TTL])) < now else standing


def key_problems(key: str | None) -> list[FieldProblem]:
    """List the problems of the key, if there is one."""
    message = None if key is None else line_problem(key, MAX_KEY)
    return [FieldProblem(["idempotencyKey"], message)] if message else []
