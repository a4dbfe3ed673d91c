"""Connections to users' own buckets, with the rules of their fields.

Secrets are encrypted on arrival; no call returns them to a user.
"""

import re
import secrets
from asyncio import gather
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import msgspec

from penstock.datastore.access.access import Access, not_found_error
from penstock.datastore.access.sealed_rows import CONNECTION_KEYS, SEALED
from penstock.datastore.access.vault import Vault
from penstock.datastore.audio.endpoint_rules import EndpointRules
from penstock.datastore.audio.records import BucketConnection, ConnectionKind
from penstock.datastore.errors import FieldProblem, Invalid, NotFound, NotPermitted
from penstock.datastore.objects.port import Credentials
from penstock.datastore.table.commit import Write
from penstock.datastore.table.items import load, read_or_report, read_rows
from penstock.datastore.table.layout import CONNECTION, ROSTER
from penstock.datastore.table.pages import Slice, Window, make_slice, read_records
from penstock.datastore.table.port import Attributes, Delete, Item, Put, Query, Range
from penstock.datastore.table.rosters import Roster
from penstock.datastore.text import is_id, name_problem

MAX_NAME: Final = 128
_BUCKET: Final = re.compile(r"[a-z0-9](?!.*\.\.)[a-z0-9.-]{1,61}[a-z0-9]", re.ASCII)
_REGION: Final = re.compile(r"[a-z]{2}(-[a-z]{2,12}){1,3}-\d{1,2}|auto", re.ASCII)
_ROLE: Final = re.compile(r"arn:aws(-[a-z]+)*:iam::\d{12}:role/[\w+=,.@/-]{1,512}", re.ASCII)
_ACCESS_KEY: Final = re.compile(r"[\w+=,.@/-]{4,128}", re.ASCII)
_SECRET_KEY: Final = re.compile(r"[\x21-\x7e]{8,512}", re.ASCII)


def connection_problems(connection: BucketConnection) -> Iterator[FieldProblem]:
    """Yield every broken rule of a connection, except the rules of its endpoint."""
    if message := name_problem(connection.name, MAX_NAME):
        yield FieldProblem(["name"], message)
    if not _BUCKET.fullmatch(connection.bucket):
        yield FieldProblem(["bucket"], "is no name of a bucket")
    if not _REGION.fullmatch(connection.region):
        yield FieldProblem(["region"], "is no name of a region")
    if connection.role_arn is not None and not _ROLE.fullmatch(connection.role_arn):
        yield FieldProblem(["roleArn"], "is no ARN of a role")


def key_problems(access_key: str, secret_key: str) -> Iterator[FieldProblem]:
    """Yield every broken rule of a pair of keys; the messages do not quote the keys."""
    if not _ACCESS_KEY.fullmatch(access_key):
        yield FieldProblem(["accessKeyId"], "is no id of an access key")
    if not _SECRET_KEY.fullmatch(secret_key):
        yield FieldProblem(["secretAccessKey"], "must be 8 to 512 printable characters")


def masked_key(access_key: str) -> str:
    """The beginning and the end of an access key's id; "…" if the id is short."""
    if len(access_key) < 12:
        return "…"
    return f"{access_key[:4]}…{access_key[-4:]}"


MAX_CONNECTIONS: Final = 100
NO_ROLES_TAKEN: Final = "cannot be used: this server assumes no roles"
_EXTERNAL_ID_BYTES: Final = 24


@dataclass(frozen=True, slots=True)
class BucketConnections:
    """The caller's connections; an API key cannot manage them. `own_bucket` is the server's.

    Without `takes_roles` the server could not assume a role, and connects none.
    """

    access: Access
    vault: Vault
    rules: EndpointRules
    own_bucket: str
    takes_roles: bool

    async def add_role(
        self, name: str, bucket: str, region: str, role_arn: str
    ) -> BucketConnection:
        """Connect a bucket by a role that the server assumes; no secret is stored.

        The server makes the external id, so that no other user can make it assume this
        role.
        """
        connection = self._new_connection(ConnectionKind.ROLE, name, bucket, region)
        external_id = secrets.token_urlsafe(_EXTERNAL_ID_BYTES)
        connection = msgspec.structs.replace(connection, role_arn=role_arn, external_id=external_id)
        problems = [] if self.takes_roles else [FieldProblem(["roleArn"], NO_ROLES_TAKEN)]
        await self._require_allowed(connection, problems)
        await self._put_connection(connection, {})
        return connection

    async def add_keys(
        self, name: str, bucket: str, region: str, keys: Credentials, endpoint: str | None = None
    ) -> BucketConnection:
        """Connect a bucket of AWS or of the endpoint, with keys that are encrypted for it alone."""
        connection = msgspec.structs.replace(
            self._new_connection(ConnectionKind.KEYS, name, bucket, region),
            endpoint=endpoint,
            access_key_shown=masked_key(keys.access_key),
        )
        await self._require_allowed(connection, list(key_problems(keys[0], keys[1])))
        secret = msgspec.json.encode([keys.access_key, keys.secret_key])
        sealed = await self.vault.seal(secret, CONNECTION_KEYS.context(self._user, connection.id))
        await self._put_connection(connection, {SEALED: sealed})
        return connection

    async def many(self, ids: Sequence[str]) -> list[BucketConnection | NotFound]:
        """Get connections: `pk = U:<user>, sk = CN:<id>`, batched; aligned with the ids."""
        keys = {id: CONNECTION.key(user=self._user, connection=id) for id in ids if is_id(id)}
        rows = await read_rows(self.access.table, keys.values(), consistent=True)
        items = [rows.get(keys[id]) if id in keys else None for id in ids]
        return [
            not_found_error("connection")
            if item is None
            else read_or_report(_read_connection, item)
            for item in items
        ]

    async def page(self, window: Window) -> Slice[BucketConnection]:
        """List connections, newest first: `sk` begins with `CN:`."""
        self._require_token()
        query = Query(
            partition=CONNECTION.pk.fill({"user": self._user}),
            range=Range(CONNECTION.sk.prefix({})),
            after=None
            if window.after is None
            else CONNECTION.key(user=self._user, connection=window.after),
            descending=not window.backward,
            limit=window.size + 1,
        )
        found = await read_records(self.access.table, query, _read_connection)
        return make_slice(found.records, window, lambda one: one.id, more=found.more)

    async def delete(self, id: str) -> BucketConnection:
        """Delete a connection with its encrypted keys; its tracks stay, and cannot be played."""
        self._require_token()
        (found,) = await self.many([id])
        if isinstance(found, NotFound):
            raise found
        # Ids are never used again, so the row that is deleted is the one that was read.
        await self.access.table.write([Delete(CONNECTION.key(user=self._user, connection=id))])
        return found

    async def unseal_keys(self, id: str) -> Credentials:
        """Decrypt the keys of a connection, for use only; raises NotFound if there are none."""
        key = CONNECTION.key(user=self._user, connection=id)
        item = (await self.access.table.get([key], consistent=True)).items.get(key)
        if item is None or SEALED not in item:
            raise not_found_error("connection")
        secret = await self.vault.open(str(item[SEALED]), CONNECTION_KEYS.context(self._user, id))
        return Credentials(*msgspec.json.decode(secret, type=tuple[str, str]))

    async def _require_allowed(
        self, connection: BucketConnection, problems: Sequence[FieldProblem]
    ) -> None:
        self._require_token()
        problems = [*connection_problems(connection), *problems]
        if connection.bucket == self.own_bucket and connection.endpoint is None:
            # A user's connection must not give access to the server's own bucket.
            problems.append(FieldProblem(["bucket"], "is the server's own"))
        if problems:
            raise Invalid(problems)
        if connection.endpoint is not None:
            self.rules.check(connection.endpoint)
        await gather(
            self._roster.require_room(self.access.table), self._require_host(connection.endpoint)
        )

    async def _require_host(self, endpoint: str | None) -> None:
        if endpoint is not None:
            await self.rules.check_host(endpoint)

    @property
    def _roster(self) -> Roster:
        """The connections of the caller."""
        return Roster(
            ROSTER.key(user=self._user, kind="connections"),
            "connections of a user",
            MAX_CONNECTIONS,
            lambda one: CONNECTION.key(user=self._user, connection=one),
            self._find_listed,
        )

    async def _find_listed(self) -> list[str]:
        held = await self.page(Window(size=MAX_CONNECTIONS))
        return [one.id for _, one in held.entries]

    def _require_token(self) -> None:
        if self.access.caller.api_key is not None:
            raise NotPermitted("An API key manages no connections; this needs a token.")

    def _new_connection(
        self, kind: ConnectionKind, name: str, bucket: str, region: str
    ) -> BucketConnection:
        return BucketConnection(
            id=self.access.clock.new_id(),
            name=name.strip(),
            kind=kind,
            bucket=bucket,
            region=region,
            created_at=self.access.clock.timestamp(),
        )

    async def _put_connection(self, connection: BucketConnection, more: Mapping[str, str]) -> None:
        item: Item = {
            **CONNECTION.item(user=self._user, connection=connection.id),
            **msgspec.to_builtins(connection),
            **more,
        }
        del item["id"]
        await self._roster.add(self.access.table, connection.id, [Write(Put(item))])

    @property
    def _user(self) -> str:
        return self.access.caller.user_id


def _read_connection(item: Attributes) -> BucketConnection:
    return load(BucketConnection, item, id=CONNECTION.sk.parse(str(item["sk"]))["connection"])
