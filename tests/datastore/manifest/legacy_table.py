"""A manifest table as the document's programs create it."""

from collections.abc import Iterable, Mapping
from typing import Any
from uuid import uuid4

import aioboto3

from penstock.datastore.dynamodb.wire import encode_item
from tests.support.stores import REGION, aws_environment


async def make_manifest_table(endpoint_url: str, items: Iterable[Mapping[str, Any]]) -> str:
    """Create a table with the items and an attribute of an unknown type; return its name."""
    name = f"manifest-{uuid4()}"
    with aws_environment():
        session = aioboto3.Session()
        async with session.client("dynamodb", REGION, endpoint_url=endpoint_url) as client:
            await client.create_table(
                TableName=name,
                KeySchema=[{"AttributeName": "RunId", "KeyType": "HASH"}],
                AttributeDefinitions=[{"AttributeName": "RunId", "AttributeType": "S"}],
                BillingMode="PAY_PER_REQUEST",
            )
            for item in items:
                raw = encode_item(dict(item)) | {"Seen": {"SS": ["a"]}}
                await client.put_item(TableName=name, Item=raw)
    return name
