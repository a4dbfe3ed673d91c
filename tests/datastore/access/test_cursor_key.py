"""The key that seals cursors is random, is made once, and outlives the server."""

from asyncio import gather
from hashlib import sha256
from pathlib import Path

from penstock.datastore.access.cursor_key import read_cursor_key
from penstock.datastore.store import Store
from penstock.datastore.table.layout import SECRET
from penstock.datastore.table.port import Item, Key, Put, Table
from penstock.resolvers.cursors import Cursors, digest_of_list
from tests.support.application import open_application
from tests.support.graphql_client import Ask
from tests.support.stores import TWO, open_store
from tests.support.table_interceptors import TracedTable

LIST = """query($after: String) {
  group(path: "/") { children(first: 1, after: $after) { pageInfo { endCursor } } } }"""


async def test_the_key_is_made_once_and_read_afterwards(table: Table) -> None:
    traced = TracedTable(table)
    first = await read_cursor_key(traced)
    assert (len(first), traced.reads, traced.writes) == (32, 2, 1)
    traced.start()
    assert await read_cursor_key(traced) == first
    assert (traced.reads, traced.writes) == (1, 0)


async def test_servers_that_start_together_get_one_key(table: Table) -> None:
    keys = await gather(*(read_cursor_key(table) for _ in range(8)))
    assert len(set(keys)) == 1
    key = Key("K:cursors", "K")
    assert (await table.get([key])).items == {
        key: {"pk": "K:cursors", "sk": "K", "key": keys[0].hex()}
    }


async def test_a_key_that_is_there_is_never_replaced(table: Table) -> None:
    item: Item = {**SECRET.item(name="cursors"), "key": "ab" * 32}
    await table.transact([Put(item)])
    assert await read_cursor_key(table) == b"\xab" * 32


async def test_two_installations_with_the_same_names_have_other_keys(tmp_path: Path) -> None:
    for name in TWO:
        async with open_store(name, tmp_path) as one, open_store(name, tmp_path) as other:
            assert await one.cursor_key() != await other.cursor_key()


async def test_a_cursor_that_a_client_can_compute_is_refused(
    any_store: Store, tmp_path: Path
) -> None:
    """The key was once the digest of the table's name."""
    ask = Ask(any_store)
    await ask.create_groups("/eu", "/usa")
    guessed = Cursors(sha256(b"cursors of penstock").digest())
    async with open_application(any_store, tmp_path) as server:
        page = (await server.ask(LIST)).json()
        cursor = page["data"]["group"]["children"]["pageInfo"]["endCursor"]
        forged = guessed.seal(digest_of_list("ann", ("children", "/")), "/eu")
        refused = (await server.ask(LIST, {"after": forged})).json()
        assert [one["extensions"]["code"] for one in refused["errors"]] == ["BAD_USER_INPUT"]
    async with open_application(any_store, tmp_path) as restarted:
        answer = (await restarted.ask(LIST, {"after": cursor})).json()
    assert "errors" not in answer
