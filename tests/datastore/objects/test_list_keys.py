"""The keys of a page of a list are decoded as the store encoded them, few at a time."""

import asyncio

import pytest

from penstock.datastore.errors import Unavailable
from penstock.datastore.objects.s3_answers import read_keys


def entries(*keys: str) -> list[dict[str, str]]:
    return [{"Key": key} for key in keys]


@pytest.mark.parametrize(
    ("page", "key", "wanted"),
    [
        ({"EncodingType": "url"}, "a%2Fb+c%2B%C3%A9", "a/b c+é"),
        ({}, "a%2Fb+c", "a%2Fb+c"),
        ({"EncodingType": "base64"}, "a%2Fb+c", "a%2Fb+c"),
        ({"EncodingType": "url"}, "%41" * 1_024, "A" * 1_024),
    ],
)
async def test_a_key_is_decoded_where_the_store_has_encoded_it(
    page: dict[str, str], key: str, wanted: str
) -> None:
    assert await read_keys(page, entries(key), "Key") == [wanted]


@pytest.mark.parametrize("found", [entries("%41" * 1_024 + "a"), [{"Prefix": "a"}]])
async def test_what_is_no_key_is_refused(found: list[dict[str, str]]) -> None:
    with pytest.raises(Unavailable):
        await read_keys({"EncodingType": "url"}, found, "Key")


async def test_others_have_turns_while_the_keys_of_a_page_are_decoded() -> None:
    turns = 0

    async def count_turns() -> None:
        nonlocal turns
        while True:
            await asyncio.sleep(0)
            turns += 1

    counting = asyncio.create_task(count_turns())
    keys = [f"{number:04}" for number in range(1_000)]
    assert await read_keys({"EncodingType": "url"}, entries(*keys), "Key") == keys
    assert turns >= 19
    counting.cancel()
