"""The requests of a batch that DynamoDB names as unprocessed, of those that were sent."""

from collections.abc import Callable, Iterable
from typing import Any

from botocore.parsers import ResponseParserError

from penstock.datastore.dynamodb.failures import STRANGE_ANSWER
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


def count_requests(requests: Requests) -> int:
    return sum(map(len, requests.values()))
