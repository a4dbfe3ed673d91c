"""The definition of the table: creating it, its index and its TTL, and comparing it."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeAlias

from penstock.datastore import errors
from penstock.datastore.dynamodb.protocol import DynamoDBClient
from penstock.datastore.dynamodb.retry import Attempts
from penstock.datastore.dynamodb.safeguards import Safeguards, read_safeguards, switch_on_recovery
from penstock.datastore.dynamodb.wire import Raw
from penstock.datastore.errors import RequestRefused
from penstock.datastore.table.port import INDEX, INDEX_HASH, TTL

KEYS = (("pk", "HASH"), ("sk", "RANGE"))
INDEX_KEYS = ((INDEX_HASH, "HASH"), ("pk", "RANGE"))
ATTRIBUTES = ("pk", "sk", INDEX_HASH)

CREATION_SECONDS = 600.0
POLL_SECONDS = 1.0

Keys: TypeAlias = tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class TableDifferences:
    """The differences of each part of a table, in sentences; an absent table lists only itself."""

    table: Sequence[str] = ()
    keys: Sequence[str] = ()
    index: Sequence[str] = ()
    ttl: Sequence[str] = ()


class TableDefinition:
    """The definition of one table at DynamoDB; `deadline` in seconds bounds each single call.

    Without `indexed` it is a table of samples, which has no index. Its TTL is switched on when it
    is created; a table that exists may belong to another program, and stays as it is.
    """

    def __init__(
        self, client: DynamoDBClient, table: str, deadline: float, *, indexed: bool = True
    ) -> None:
        self._client = client
        self._table = table
        self._deadline = deadline
        self._indexed = indexed

    async def create(self) -> None:
        """Create the missing parts and wait until they can be used; change nothing that exists.

        A new table with an index is also protected against deletion and kept recoverable.

        Raises Unavailable if the table is not active after ten minutes, and ForeignTable if a table
        of samples exists with other keys.
        """
        description = await self._describe()
        is_new = description is None
        if description is None:
            await self._call_unless_begun("CreateTable", _creation_request(self._indexed))
        elif self._indexed and _find_index(description) is None:
            await self._call_unless_begun("UpdateTable", _index_creation_request())
        if not self._is_active(description):
            description = await self._wait_until_active()
        if not self._indexed:
            self._check_keys(description)
        if (self._indexed or is_new) and await self._read_ttl() is None:
            await self._call_unless_begun(
                "UpdateTimeToLive",
                {"TimeToLiveSpecification": {"Enabled": True, "AttributeName": TTL}},
            )
        if self._indexed and is_new:
            await switch_on_recovery(self._call)

    async def safeguards(self) -> Safeguards:
        """Read which safeguards the table has. Raises RequestRefused without the permission."""
        return await read_safeguards(self._call)

    async def check_readable(self) -> None:
        """Raise ForeignTable if the table exists and has other keys than ours."""
        description = await self._describe()
        if description is not None:
            self._check_keys(description)

    def _check_keys(self, description: Raw | None) -> None:
        problems = [] if description is None else _key_problems(description)
        if problems:
            raise errors.ForeignTable(
                f"The table {self._table} belongs to another program: {' '.join(problems)} "
                f"`penstock ngsi adopt {self._table}` takes its samples over."
            )

    async def verify(self) -> list[str]:
        """Describe in sentences how the table differs from the one that `create` makes."""
        found = await self.differences()
        return [*found.table, *found.keys, *found.index, *found.ttl]

    async def differences(self) -> TableDifferences:
        """Describe the differences part by part."""
        description = await self._describe()
        if description is None:
            return TableDifferences(table=[f"The table {self._table} does not exist."])
        keys, index = _key_problems(description), _index_problems(_find_index(description))
        return TableDifferences([], keys, index, await self._ttl_problems())

    async def _ttl_problems(self) -> list[str]:
        ttl = await self._read_ttl()
        if ttl is None:
            return [f"Time to live is off; it must be on, by {TTL}."]
        return [] if ttl == TTL else [f"Time to live goes by {ttl}, not by {TTL}."]

    async def _call(self, operation: str, arguments: Raw) -> Raw:
        request = {"TableName": self._table, **arguments}
        return await Attempts(self._deadline).send(partial(self._client.call, operation, request))

    async def _describe(self) -> Raw | None:
        """Read the table's description; None if there is no such table."""
        try:
            answer = await self._call("DescribeTable", {})
        except RequestRefused as refused:
            if refused.code == "ResourceNotFoundException":
                return None
            raise
        description: Raw = answer["Table"]
        return description

    async def _read_ttl(self) -> str | None:
        """Read the name of the TTL attribute; None if TTL is off."""
        answer = await self._call("DescribeTimeToLive", {})
        ttl: Raw = answer["TimeToLiveDescription"]
        if ttl["TimeToLiveStatus"] not in {"ENABLED", "ENABLING"}:
            return None
        name: str = ttl["AttributeName"]
        return name

    async def _call_unless_begun(self, operation: str, arguments: Raw) -> None:
        """Request a change that another process, or an earlier attempt, may have begun already."""
        try:
            await self._call(operation, arguments)
        except RequestRefused as refused:
            begun = refused.code == "ResourceInUseException" or "already" in refused.message
            if not begun:
                raise

    async def _wait_until_active(self) -> Raw | None:
        """Wait, and return the table's description."""
        try:
            async with asyncio.timeout(CREATION_SECONDS):
                while True:
                    description = await self._describe()
                    if self._is_active(description):
                        return description
                    await asyncio.sleep(POLL_SECONDS)
        except TimeoutError as error:
            message = f"The table was not active within {CREATION_SECONDS:g} seconds."
            raise errors.Unavailable(message, retry_after=60) from error

    def _is_active(self, description: Raw | None) -> bool:
        """Whether table and index can be used; a new table may still be unknown."""
        if description is None or description["TableStatus"] != "ACTIVE":
            return False
        index = _find_index(description) if self._indexed else {}
        return index is not None and index.get("IndexStatus", "ACTIVE") == "ACTIVE"


def _key_schema(keys: Keys) -> list[Raw]:
    return [{"AttributeName": name, "KeyType": kind} for name, kind in keys]


def _attribute_definitions(names: Sequence[str] = ATTRIBUTES) -> list[Raw]:
    return [{"AttributeName": name, "AttributeType": "S"} for name in names]


def _index_definition() -> Raw:
    return {
        "IndexName": INDEX,
        "KeySchema": _key_schema(INDEX_KEYS),
        "Projection": {"ProjectionType": "ALL"},
    }


def _creation_request(indexed: bool) -> Raw:
    creation = {
        "AttributeDefinitions": _attribute_definitions([name for name, _ in KEYS]),
        "KeySchema": _key_schema(KEYS),
        "BillingMode": "PAY_PER_REQUEST",
    }
    if not indexed:
        return creation
    return {
        **creation,
        "AttributeDefinitions": _attribute_definitions(),
        "GlobalSecondaryIndexes": [_index_definition()],
        "DeletionProtectionEnabled": True,
    }


def _index_creation_request() -> Raw:
    return {
        "AttributeDefinitions": _attribute_definitions(),
        "GlobalSecondaryIndexUpdates": [{"Create": _index_definition()}],
    }


def _find_index(description: Raw) -> Raw | None:
    indexes: list[Raw] = description.get("GlobalSecondaryIndexes") or []
    return next((index for index in indexes if index["IndexName"] == INDEX), None)


def _key_pairs(described: list[dict[str, Any]]) -> Keys:
    return tuple((key["AttributeName"], key["KeyType"]) for key in described)


def _key_problems(description: Raw) -> list[str]:
    problems = []
    if _key_pairs(description["KeySchema"]) != KEYS:
        problems.append("The keys of the table are not pk (hash) and sk (range).")
    types = {
        each["AttributeName"]: each["AttributeType"] for each in description["AttributeDefinitions"]
    }
    problems += [
        f"The key attribute {name} has type {types[name]}, not S."
        for name in ATTRIBUTES
        if types.get(name, "S") != "S"
    ]
    return problems


def _index_problems(index: Raw | None) -> list[str]:
    if index is None:
        return [f"The index {INDEX} does not exist."]
    problems = []
    if _key_pairs(index["KeySchema"]) != INDEX_KEYS:
        problems.append(f"The keys of the index {INDEX} are not siKey1 (hash) and pk (range).")
    if index["Projection"]["ProjectionType"] != "ALL":
        problems.append(f"The index {INDEX} does not project all attributes.")
    if index.get("IndexStatus", "ACTIVE") != "ACTIVE":
        problems.append(f"The index {INDEX} is {index['IndexStatus']}, not ACTIVE.")
    return problems
