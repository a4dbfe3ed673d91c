"""A batch sends again what DynamoDB leaves undone, and nothing else that an answer names."""

from typing import Any

import orjson
import pytest

from penstock.datastore.dynamodb import retry
from penstock.datastore.dynamodb.reads import batch_get
from penstock.datastore.dynamodb.responses import parse_answer
from penstock.datastore.dynamodb.retry import Attempts
from penstock.datastore.dynamodb.transactions import batch_write
from penstock.datastore.errors import Unavailable
from penstock.datastore.table.port import Delete, Key, Put

OURS = {"pk": {"S": "a"}, "sk": {"S": "1"}}
FOREIGN = {"pk": {"S": "RM:/"}, "sk": {"S": "RM:ngsi"}}
PUT = {"PutRequest": {"Item": OURS}}


class ScriptedClient:
    """Notes requests, and answers with one text after another, the last one again and again."""

    def __init__(self, *answers: object) -> None:
        self.answers = list(answers)
        self.sent: list[Any] = []

    async def call(self, operation: str, request: Any) -> Any:
        self.sent.append(request["RequestItems"])
        answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        return parse_answer(operation, 200, {}, orjson.dumps(answer))


@pytest.fixture(autouse=True)
def no_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(retry, "_jitter", lambda: 0.0)


@pytest.mark.parametrize(
    "unprocessed",
    [
        {"penstock": [{"DeleteRequest": {"Key": FOREIGN}}]},
        {"samples": [{"DeleteRequest": {"Key": FOREIGN}}]},
        {"samples": [{"PutRequest": {"Item": FOREIGN}}]},
        {"samples": [PUT | {"DeleteRequest": {"Key": FOREIGN}}]},
        {"samples": [PUT, 7]},
        {"samples": {"PutRequest": 1}},
        {"samples": 7},
        ["samples"],
        7,
    ],
)
async def test_no_answer_names_a_write_that_was_not_sent(unprocessed: object) -> None:
    client: Any = ScriptedClient({"UnprocessedItems": unprocessed})
    with pytest.raises(Unavailable):
        await batch_write(client, Attempts(60.0, 3), {"samples": [Put({"pk": "a", "sk": "1"})]})
    assert client.sent == [{"samples": [PUT]}] * 3


async def test_a_write_is_sent_again_as_it_was_whatever_an_answer_says_of_it() -> None:
    turned = [{"PutRequest": {"Item": OURS | {"n": {"N": "1"}}}}, {"DeleteRequest": {"Key": OURS}}]
    empty: Any = {"UnprocessedItems": {"samples": []}}
    client: Any = ScriptedClient(
        *({"UnprocessedItems": {"samples": [one]}} for one in turned), empty
    )
    writes: list[Put | Delete] = [Put({"pk": "a", "sk": "1"}), Delete(Key("a", "2"))]
    await batch_write(client, Attempts(60.0), {"samples": writes})
    gone = {"DeleteRequest": {"Key": OURS | {"sk": {"S": "2"}}}}
    assert client.sent == [{"samples": [PUT, gone]}, {"samples": [PUT]}, {"samples": [PUT]}]


@pytest.mark.parametrize(
    "answer",
    [
        {"Responses": {}, "UnprocessedKeys": {"penstock": {"Keys": [FOREIGN]}}},
        {"Responses": {}, "UnprocessedKeys": {"samples": {"Keys": [FOREIGN]}}},
        {"Responses": {}, "UnprocessedKeys": {"samples": [FOREIGN]}},
        {"Responses": {}, "UnprocessedKeys": {"samples": 7}},
        {"Responses": {"penstock": [FOREIGN]}},
    ],
)
async def test_no_answer_names_a_key_that_was_not_asked(answer: object) -> None:
    client: Any = ScriptedClient(answer)
    with pytest.raises(Unavailable):
        await batch_get(client, Attempts(60.0, 3), {"samples": [Key("a", "1")]}, consistent=False)
    assert client.sent == [{"samples": {"Keys": [OURS], "ConsistentRead": False}}] * 3
