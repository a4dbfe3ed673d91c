"""The requests of a batch that DynamoDB names as unprocessed, of those that were sent."""

from collections.abc import Callable, Iterable
from typing import Any

from botocore.parsers import ResponseParserError

from penstock.datastore.dynamodb.failures import STRANGE_ANSWER
from penstock.datastore.dynamodb.retry import Attempts
from penstock.datastore.dynamodb.wire import Raw
from penstock.datastore.table.port import Key

Requests = dict[str, dict[Key, Raw]]
"""The requests of a batch, by table and key."""


def select_unprocessed(
    sent: Requests, named: Any, read_keys: Callable[[Any], Iterable[Key]]
) -> Requests:
    """Return the named requests as they were sent: who answers chooses none of what is sent.

    `named` is the field of the answer, and `read_keys` reads the keys that it names of a table.
    Raises ResponseParserError if the answer names a request that was not sent.
    """
    try:
        rest = {
            table: {key: sent[table][key] for key in read_keys(of)} for table, of in named.items()
        }
    except STRANGE_ANSWER as error:
        raise ResponseParserError("an answer names requests that were not sent") from error
    return {table: of for table, of in rest.items() if of}


async def pause_before_rest(attempts: Attempts, sent: Requests, rest: Requests) -> None:
    """Wait before the rest of what was sent is sent again, if there is any."""
    if rest:
        await attempts.pause_before_rest(of=_count(sent), left=_count(rest))


def _count(requests: Requests) -> int:
    return sum(map(len, requests.values()))
