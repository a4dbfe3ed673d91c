"""Passwords of music players: secrets that let a player read and change its user's library.

A player proves that it has one by a digest of the password and a salt of its own. So the server
must read the password; it is random, sealed for its owner, and opens the library of its user alone.
"""

import secrets
from dataclasses import dataclass
from typing import Final, NamedTuple

import msgspec

from penstock.datastore.access.access import Access
from penstock.datastore.access.sealed_rows import PLAYER_SECRET, SEALED
from penstock.datastore.access.vault import TamperedSecret, Vault
from penstock.datastore.errors import FieldProblem, Invalid, NotFound, NotPermitted
from penstock.datastore.records import PlayerPassword
from penstock.datastore.roles import MAX_USER_ID
from penstock.datastore.table.commit import Write, commit
from penstock.datastore.table.items import load
from penstock.datastore.table.layout import PLAYER_PASSWORD, ROSTER
from penstock.datastore.table.pages import Slice, Window, make_slice, read_records
from penstock.datastore.table.port import Attributes, Delete, Item, Put, Query, Range, Table
from penstock.datastore.table.rosters import Roster
from penstock.datastore.text import is_id, name_problem, unescape

MAX_NAME: Final = 128
MAX_PASSWORDS: Final = 20
"""The maximum of passwords of one user: a player's digest is compared with each of them."""

LETTERS: Final = "abcdefghijkmnpqrstuvwxyz23456789"
"""The characters of a password: 32 that look different from each other."""

LENGTH: Final = 26
"""The characters of a password, which hold 130 random bits."""


_ALL: Final = Range(PLAYER_PASSWORD.sk.prefix({}))


class NewPlayerPassword(NamedTuple):
    """A new password, and its text, which is told this once."""

    password: PlayerPassword
    text: str


class SealedPassword(NamedTuple):
    """The stored form of a password."""

    id: str
    user: str
    sealed: str


async def find_player_passwords(table: Table, user: str) -> list[SealedPassword]:
    """Read the passwords of a user, who may be any text: `pk = U:<user>`, `sk` from `PP:`."""
    if len(user) > MAX_USER_ID:
        return []
    partition = PLAYER_PASSWORD.pk.fill({"user": user})
    page = await table.query(Query(partition=partition, range=_ALL, consistent=True))
    return [
        SealedPassword(_id_of(item), user, str(item[SEALED]))
        for item in page.items
        if SEALED in item
    ]


async def open_player_password(vault: Vault, found: SealedPassword) -> str | None:
    """Open a password; None for one that was sealed by another key. Raises Unavailable."""
    try:
        context = PLAYER_SECRET.context(found.user, found.id)
        return (await vault.open(found.sealed, context)).decode()
    except TamperedSecret:
        return None


@dataclass(frozen=True, slots=True)
class PlayerPasswords:
    """The caller's own passwords of players, which a key or a player cannot manage."""

    access: Access
    vault: Vault

    async def create(self, name: str) -> NewPlayerPassword:
        """Make a password; raises Unavailable where the server has no key to seal it."""
        self._require_token()
        if message := name_problem(name, MAX_NAME):
            raise Invalid([FieldProblem(["name"], message)])
        await self._roster.require_room(self.access.table)
        id, text = self.access.clock.new_id(), make_password()
        sealed = await self.vault.seal(text.encode(), PLAYER_SECRET.context(self._user, id))
        now = self.access.clock.timestamp()
        made = PlayerPassword(id=id, name=name.strip(), created_at=now)
        item: Item = {
            **PLAYER_PASSWORD.item(user=self._user, password=id),
            **msgspec.to_builtins(made),
            SEALED: sealed,
        }
        del item["id"]
        await self._roster.add(self.access.table, id, [Write(Put(item))])
        return NewPlayerPassword(made, text)

    async def page(self, window: Window) -> Slice[PlayerPassword]:
        """List the passwords, newest first: `sk` begins with `PP:`."""
        self._require_token()
        query = Query(
            partition=PLAYER_PASSWORD.pk.fill({"user": self._user}),
            range=_ALL,
            after=None
            if window.after is None
            else PLAYER_PASSWORD.key(user=self._user, password=window.after),
            descending=not window.backward,
            limit=window.size + 1,
        )
        found = await read_records(self.access.table, query, _read_password)
        return make_slice(found.records, window, lambda one: one.id, more=found.more)

    async def revoke(self, id: str) -> PlayerPassword:
        """Remove a password for good; raises NotFound for one of another user."""
        self._require_token()
        if not is_id(id):
            raise _unknown_password()
        key = PLAYER_PASSWORD.key(user=self._user, password=id)
        item = (await self.access.table.get([key], consistent=True)).items.get(key)
        if item is None:
            raise _unknown_password()
        # An id is never used again, so no condition is needed.
        await commit(self.access.table, [Write(Delete(key))])
        return _read_password(item)

    @property
    def _roster(self) -> Roster:
        """The passwords of the caller."""
        return Roster(
            ROSTER.key(user=self._user, kind="players"),
            "passwords of music players of a user",
            MAX_PASSWORDS,
            lambda one: PLAYER_PASSWORD.key(user=self._user, password=one),
            self._find_listed,
        )

    async def _find_listed(self) -> list[str]:
        found = await self.page(Window(size=MAX_PASSWORDS))
        return [one.id for _, one in found.entries]

    def _require_token(self) -> None:
        if self.access.caller.api_key is not None:
            raise NotPermitted("An API key manages no passwords of players; this needs a token.")

    @property
    def _user(self) -> str:
        return self.access.caller.user_id


def make_password() -> str:
    """Make a random password."""
    return "".join(secrets.choice(LETTERS) for _ in range(LENGTH))


def _id_of(item: Attributes) -> str:
    return unescape(PLAYER_PASSWORD.sk.parse(str(item["sk"]))["password"])


def _read_password(item: Attributes) -> PlayerPassword:
    return load(PlayerPassword, item, id=_id_of(item))


def _unknown_password() -> NotFound:
    return NotFound("There is no password of a player with this id.", ("id",))
