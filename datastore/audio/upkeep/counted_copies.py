"""Copies that count: what is made of a user's tracks and covers, of which few are kept.

Each has a row in a list of its user, by the time from which it may go. The transaction that adds
the row adds the copy to a count, and the one that removes it takes the copy off, so that the count
is exact whoever dies meanwhile.
"""

from contextlib import suppress
from typing import Final, NamedTuple

from penstock.datastore.access.access import Access
from penstock.datastore.audio.names import object_hash
from penstock.datastore.audio.upkeep.swept_objects import SWEPT, delete_marked, mark_swept
from penstock.datastore.table.layout import COPY_COUNT, COPY_LISTED, LOOSE_OBJECT
from penstock.datastore.table.port import (
    AllOf,
    AnyOf,
    Attributes,
    Compare,
    Condition,
    ConditionFailed,
    Delete,
    Exists,
    Item,
    Key,
    Missing,
    Operation,
    Update,
)

MADE: Final = "made"
_OWNER: Final = "listedPk"
_LISTED: Final = "listedSk"
_SIZE: Final = "size"
_NAMED: Final = "named"


class CopyKind(NamedTuple):
    """A kind of copies, by its letter, and how many of them and of their bytes a user has."""

    letter: str
    most: int
    most_bytes: int


class CountedCopy(NamedTuple):
    """A copy in the list of its user: its row there, its bytes, and the hash of its name."""

    listed: Key
    size: int
    named: str

    @classmethod
    def of(cls, held: Attributes) -> "CountedCopy | None":
        """The copy that the row of an object tells of; None for an object that does not count."""
        if _LISTED not in held:
            return None
        listed = Key(str(held[_OWNER]), str(held[_LISTED]))
        return cls(listed, int(str(held[_SIZE])), str(held[_NAMED]))

    def move(self, due: int) -> "CountedCopy":
        """The copy with another time from which it may go."""
        parts = COPY_LISTED.sk.parse(self.listed.sk)
        sort = COPY_LISTED.sk.fill({**parts, "due": due})
        return self._replace(listed=Key(self.listed.pk, sort))

    @property
    def fields(self) -> Item:
        """The attributes of the row of the object."""
        return {
            _OWNER: self.listed.pk,
            _LISTED: self.listed.sk,
            _SIZE: self.size,
            _NAMED: self.named,
        }

    def listed_row(self, key: str) -> Item:
        """The row in the list of the user."""
        return {**self.listed._asdict(), "key": key, _SIZE: self.size}

    @property
    def unmoved(self) -> Condition:
        """The condition on the row of the object that the copy was neither renewed nor marked."""
        return AllOf((self.in_place, Missing(SWEPT)))

    @property
    def in_place(self) -> Condition:
        """The condition on the row of the object that the copy was not renewed."""
        return Compare(_LISTED, "=", self.listed.sk)

    def count_in(self, kind: CopyKind) -> Update:
        """The write that counts the copy, where there is room for it."""
        room = AllOf(
            (
                Compare("count", "<=", kind.most - 1),
                Compare(_SIZE, "<=", kind.most_bytes - self.size),
            )
        )
        return self._change_count(1, AnyOf((Missing(), room)))

    @property
    def removal(self) -> list[Operation]:
        """The writes that take the copy off its list and its count; they happen once."""
        return [Delete(self.listed, Exists()), self._change_count(-1, Exists())]

    def _change_count(self, sign: int, condition: Condition) -> Update:
        kind = COPY_LISTED.sk.parse(self.listed.sk)["kind"]
        key = Key(self.listed.pk, COPY_COUNT.sk.fill({"kind": kind}))
        return Update(key=key, add={"count": sign, _SIZE: sign * self.size}, condition=condition)


async def drop_copy(access: Access, key: str, copy: CountedCopy, condition: Condition) -> bool:
    """Mark a copy, forget its name, delete it, and let it count no more.

    False where the condition on the row of the object does not hold. Whoever dies meanwhile leaves
    a copy that the next call drops.
    """
    row, named = LOOSE_OBJECT.key(hash=object_hash(key)), LOOSE_OBJECT.key(hash=copy.named)
    if not await mark_swept(access, row, condition):
        return False
    with suppress(ConditionFailed):  # the name is that of a later copy
        await access.table.transact([Delete(named, Compare(MADE, "=", key))])
    with suppress(ConditionFailed):  # another call came first
        await delete_marked(access, row, key, copy.removal)
    return True
