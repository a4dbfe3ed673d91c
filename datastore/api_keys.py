"""API keys: secrets that let a program act for a user, stored only as hashes."""

import hmac
import re
import secrets
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from typing import Final, NamedTuple, cast

import msgspec

from penstock.datastore.access.access import Access
from penstock.datastore.access.group_identity import nearest_group, read_identities
from penstock.datastore.clock import iso_timestamp
from penstock.datastore.errors import FieldProblem, Invalid, NotFound, NotPermitted
from penstock.datastore.history.rows import Action, entry_about, group_writes, role_words
from penstock.datastore.records import ApiKey, GroupRole
from penstock.datastore.roles import ROOT, Caller, GroupPath, Role, ancestors
from penstock.datastore.table.commit import Write, commit
from penstock.datastore.table.layout import API_KEY, ROSTER
from penstock.datastore.table.pages import Slice, Window, make_slice, read_records
from penstock.datastore.table.port import TTL, Attributes, Delete, Item, Put, Query, Table, Value
from penstock.datastore.table.rosters import Roster
from penstock.datastore.text import is_id, name_problem

PREFIX: Final = "penstock_"
MAX_NAME = 128
MAX_ROLES = 50
MAX_KEYS = 100
"""The maximum of keys of one user; an expired key counts until the store has removed it."""

_ROLES = f"must be 1 to {MAX_ROLES}"
_SECRET_BYTES = 32
_TEXT = re.compile(PREFIX + r"([0-9a-f-]{36})_([A-Za-z0-9_-]{43})", re.ASCII)


class KeyText(NamedTuple):
    """The text of a key, as its user has it: `penstock_<id>_<secret>`."""

    id: str
    secret: str

    @classmethod
    def parse(cls, text: str) -> "KeyText | None":
        """Parse the text of a key; None for a text that is not of this form."""
        found = _TEXT.fullmatch(text)
        return cls(*found.groups()) if found and is_id(found[1]) else None

    def __repr__(self) -> str:
        """The key's id, because logs and tracebacks must not hold the secret."""
        return f"KeyText({self.id})"

    def __str__(self) -> str:
        return f"{PREFIX}{self.id}_{self.secret}"

    @property
    def digest(self) -> str:
        """The SHA-256 of the secret; that suffices, because 256 random bits cannot be guessed."""
        return sha256(self.secret.encode()).hexdigest()


class NewApiKey(NamedTuple):
    """A new key, and its text, which is never stored."""

    key: ApiKey
    text: KeyText


@dataclass(frozen=True, slots=True)
class Credential:
    """The stored hash, user and roles of a key; `expires` is in epoch seconds."""

    id: str
    user: str
    roles: Mapping[GroupPath, Role]
    digest: str
    expires: int

    def admits(self, text: KeyText, now: datetime) -> bool:
        """Whether the text is this key's and has not expired; compares in constant time."""
        same = hmac.compare_digest(self.digest, text.digest)
        return same and not self.has_expired(now)

    def has_expired(self, now: datetime) -> bool:
        return now.timestamp() >= self.expires


async def find_credential(table: Table, id: str) -> Credential | None:
    """Read a key: consistent gets of `pk = AK:<id>, sk = AK`, then of the groups of its roles.

    A role ends where the group that it was made for is gone, whatever has its path now.
    """
    key = API_KEY.key(id=id)
    item = (await table.get([key], consistent=True)).items.get(key)
    if item is None:
        return None
    held = _roles(item)
    roles = _bound_ended(held, await _standing_roles(table, item, held))
    return Credential(id, str(item["user"]), roles, str(item["digest"]), cast("int", item[TTL]))


def _bound_ended(
    held: Mapping[GroupPath, Role], standing: Mapping[GroupPath, Role]
) -> dict[GroupPath, Role]:
    """The standing roles, which only read where another role ended.

    The role that ended may have been the lower one, of a user who can do less there than above.
    """
    key = Caller("", standing)
    bounds = {
        group: Role.READER
        for group in held
        if group not in standing and key.has_role(Role.CONTRIBUTOR, group)
    }
    return {**standing, **bounds}


async def _standing_roles(
    table: Table, item: Attributes, held: Mapping[GroupPath, Role]
) -> dict[GroupPath, Role]:
    """The roles of a key whose groups are the same as when it was made."""
    named = cast("Mapping[GroupPath, str] | None", item.get("groups"))
    if named is None:
        return await _roles_of_earlier_groups(table, held, str(item["createdAt"]))
    standing = await read_identities(table, named)
    return {
        group: role
        for group, role in held.items()
        if (near := nearest_group(group, named)) == ROOT or standing.get(near) == named[near]
    }


async def _roles_of_earlier_groups(
    table: Table, held: Mapping[GroupPath, Role], made: str
) -> dict[GroupPath, Role]:
    """The roles of a key of an earlier release, which does not name the groups it was made for.

    A group that was created after the key is another one, and so are those below it.
    """
    standing = await read_identities(table, _lines_of(held))
    return {
        group: role
        for group, role in held.items()
        if all(standing.get(above, "") <= made for above in ancestors(group))
    }


def _lines_of(groups: Iterable[GroupPath]) -> set[GroupPath]:
    """The groups, and all above them."""
    return {above for group in groups for above in ancestors(group)}


@dataclass(frozen=True, slots=True)
class ApiKeys:
    """The caller's own keys; `longest` is the longest lifetime. A key cannot manage keys."""

    access: Access
    longest: timedelta

    async def create(self, name: str, roles: Sequence[GroupRole], expires_at: str) -> NewApiKey:
        """Create a key whose roles do not exceed the caller's own roles at any group.

        Each role is tied to its group, or to the nearest group above it that exists now.
        `expires_at` is cut to whole seconds. The list, read from the index, may show the key late.
        """
        self._require_token()
        if len(roles) > MAX_ROLES:
            raise Invalid([FieldProblem(["roles"], _ROLES)])
        wanted = {each.group: each.role for each in roles}
        self._require_held(wanted)
        now, expires = self.access.clock.now(), datetime.fromisoformat(expires_at)
        if problems := _problems(name, roles, expires - now, self.longest):
            raise Invalid(problems)
        text = KeyText(self.access.clock.new_id(), secrets.token_urlsafe(_SECRET_BYTES))
        item: Item = {
            **self._item(text),
            "name": name.strip(),
            "roles": {group: wanted[group].name for group in sorted(wanted)},
            "groups": await self._find_groups(wanted),
            "createdAt": iso_timestamp(now),
            TTL: int(expires.timestamp()),
        }
        made = [Write(Put(item)), *self._history(item, created=True)]
        await self._roster.add(self.access.table, text.id, made)
        return NewApiKey(_key_record(item), text)

    async def page(self, window: Window) -> Slice[ApiKey]:
        """List the caller's keys, newest first: `siKey1 = AK:<user>`."""
        self._require_token()
        query = Query(
            partition=API_KEY.index_partition(user=self.access.caller.user_id),
            index=True,
            after=None if window.after is None else API_KEY.key(id=window.after),
            descending=not window.backward,
            limit=window.size + 1,
        )
        found = await read_records(self.access.table, query, _key_record)
        return make_slice(found.records, window, lambda key: key.id, more=found.more)

    async def revoke(self, id: str) -> ApiKey:
        """Remove one of the caller's keys for good; NotFound for a key of another user."""
        self._require_token()
        if not is_id(id):
            raise _unknown_key()
        key = API_KEY.key(id=id)
        item = (await self.access.table.get([key], consistent=True)).items.get(key)
        if item is None or item["user"] != self.access.caller.user_id:
            raise _unknown_key()
        # A key never changes its user and an id is never used again, so no condition is needed.
        await commit(self.access.table, [Write(Delete(key)), *self._history(item, created=False)])
        return _key_record(item)

    def _history(self, item: Attributes, *, created: bool) -> list[Write]:
        """The entries in the audit trails of the groups at which the key has roles."""
        action = Action.API_KEY_CREATED if created else Action.API_KEY_REVOKED
        key = _key_record(item)
        entry = entry_about(self.access, action, key.name, "api key")
        entry = msgspec.structs.replace(entry, subject_id=key.id, roles=role_words(key.roles))
        return group_writes(self.access, entry, [each.group for each in key.roles])

    def _item(self, text: KeyText) -> Item:
        """The key, the user and the digest of a new row."""
        user = self.access.caller.user_id
        return {**API_KEY.item(id=text.id, user=user), "user": user, "digest": text.digest}

    def _require_token(self) -> None:
        if self.access.caller.api_key is not None:
            raise NotPermitted("An API key manages no API keys; this needs a token.")

    def _require_held(self, wanted: Mapping[GroupPath, Role]) -> None:
        """Compare the roles at every group where the key's or the caller's role changes."""
        key = Caller(self.access.caller.user_id, wanted)
        for group in sorted({*wanted, *self.access.caller.roles}):
            role = key.role_at(group)
            if role is not None:
                self.access.require_role(role, group)

    async def _find_groups(self, wanted: Mapping[GroupPath, Role]) -> dict[str, Value]:
        """Find the identities of the groups of roles, or of the nearest above that exist."""
        found = await read_identities(self.access.table, _lines_of(wanted))
        near = {nearest_group(group, found) for group in wanted} - {ROOT}
        return {group: found[group] for group in sorted(near)}

    @property
    def _roster(self) -> Roster:
        """The keys of the caller."""
        return Roster(
            ROSTER.key(user=self.access.caller.user_id, kind="keys"),
            "API keys of a user",
            MAX_KEYS,
            lambda key: API_KEY.key(id=key),
            self._find_listed,
        )

    async def _find_listed(self) -> list[str]:
        partition = API_KEY.index_partition(user=self.access.caller.user_id)
        page = await self.access.table.query(Query(partition=partition, index=True, limit=MAX_KEYS))
        return [API_KEY.pk.parse(str(item["pk"]))["id"] for item in page.items]


def _problems(
    name: str, roles: Sequence[GroupRole], life: timedelta, longest: timedelta
) -> list[FieldProblem]:
    problems = []
    if message := name_problem(name, MAX_NAME):
        problems.append(FieldProblem(["name"], message))
    if not roles:
        problems.append(FieldProblem(["roles"], _ROLES))
    if len({each.group for each in roles}) < len(roles):
        problems.append(FieldProblem(["roles"], "must name each group once"))
    # Fractions of a second are cut off: a shorter life could already be over.
    if not timedelta(seconds=1) <= life <= longest:
        words = f"must be in the future, at most {longest.days} days from now"
        problems.append(FieldProblem(["expiresAt"], words))
    return problems


def _key_record(item: Attributes) -> ApiKey:
    return ApiKey(
        id=API_KEY.pk.parse(str(item["pk"]))["id"],
        name=str(item["name"]),
        roles=tuple(GroupRole(group=group, role=role) for group, role in _roles(item).items()),
        created_at=str(item["createdAt"]),
        expires_at=iso_timestamp(datetime.fromtimestamp(cast("int", item[TTL]), UTC)),
    )


def _roles(item: Attributes) -> dict[GroupPath, Role]:
    names = cast("dict[str, str]", item["roles"])
    return {GroupPath(group): Role[names[group]] for group in sorted(names)}


def _unknown_key() -> NotFound:
    return NotFound("There is no API key with this id.", ("id",))
