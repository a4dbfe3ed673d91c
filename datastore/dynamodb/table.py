"""The table port over DynamoDB: limits are checked first, requests are retried until a deadline."""

from asyncio import get_running_loop
from collections.abc import Sequence
from contextlib import AsyncExitStack
from functools import partial

from penstock.datastore.dynamodb import reads, transactions
from penstock.datastore.dynamodb.client import connect
from penstock.datastore.dynamodb.create_table import TableDefinition
from penstock.datastore.dynamodb.failures import own_credentials
from penstock.datastore.dynamodb.protocol import (
    DEFAULT_CLIENT,
    ClientKind,
    ClientLimits,
    DynamoDBClient,
)
from penstock.datastore.dynamodb.retry import DEADLINE, Attempts
from penstock.datastore.table import limits
from penstock.datastore.table.port import (
    PING,
    Batch,
    Delete,
    Key,
    Operation,
    Page,
    Put,
    Query,
    Scan,
)
from penstock.datastore.table.turns import TransactionTurns


class DynamoDBTable:
    """One DynamoDB table as a `penstock.datastore.table.port.Table`.

    Beyond the errors of the port, every method may raise `errors.RequestRefused`: the request, the
    table or the credentials are wrong, which is for the log and never for a client.
    """

    def __init__(
        self, name: str, client: DynamoDBClient, connections: AsyncExitStack, deadline: float
    ) -> None:
        self._name = name
        self._client = client
        self._connections = connections
        self._deadline = deadline
        price = partial(transactions.list_write_units, transactional=True)
        self._turns = TransactionTurns(self._send_transaction, price)

    @classmethod
    async def open(  # noqa: PLR0913 - the settings of one client
        cls,
        name: str,
        *,
        region: str | None = None,
        endpoint_url: str | None = None,
        deadline: float = DEADLINE,
        kind: ClientKind = DEFAULT_CLIENT,
        client_limits: ClientLimits | None = None,
    ) -> "DynamoDBTable":
        """Connect with the credentials of AWS's ordinary chain; nothing is requested of the table.

        `deadline` is in seconds and bounds each call together with its retries.
        """
        connections = AsyncExitStack()
        with own_credentials():
            connecting = connect(region, endpoint_url, kind=kind, limits=client_limits)
            client = await connections.enter_async_context(connecting)
        return cls(name, client, connections, deadline)

    async def get(self, keys: Sequence[Key], *, consistent: bool = False) -> Batch:
        limits.guard_get(keys)
        attempts = Attempts(self._deadline)
        return await reads.get_items(
            self._client, self._name, attempts, keys, consistent=consistent
        )

    async def query(self, query: Query) -> Page:
        limits.guard_query(query)
        request = reads.query_request(self._name, query)
        answer = await Attempts(self._deadline).send(partial(self._client.call, "Query", request))
        return reads.read_page(query, answer)

    async def scan(self, scan: Scan) -> Page:
        limits.guard_scan(scan)
        request = reads.scan_request(self._name, scan)
        answer = await Attempts(self._deadline).send(partial(self._client.call, "Scan", request))
        return reads.read_scanned(scan, answer)

    async def transact(self, operations: Sequence[Operation]) -> float:
        sizes = limits.guard_transact(operations)
        return await self._turns.transact(operations, sizes, self._deadline)

    async def write(self, operations: Sequence[Put | Delete]) -> float:
        sizes = limits.guard_write(operations)
        await transactions.batch_write(
            self._client, Attempts(self._deadline), {self._name: operations}
        )
        return sum(transactions.list_write_units(operations, sizes, transactional=False))

    async def ping(self) -> None:
        await self.get([PING])

    async def create(self) -> None:
        await self._definition().create()

    async def verify(self) -> list[str]:
        return await self._definition().verify()

    async def close(self) -> None:
        await self._turns.close()
        await self._connections.aclose()

    async def _send_transaction(self, operations: Sequence[Operation], until: float) -> None:
        attempts = Attempts(until - get_running_loop().time())
        await transactions.transact(self._client, self._name, attempts, operations)

    def _definition(self) -> TableDefinition:
        return TableDefinition(self._client, self._name, self._deadline)
