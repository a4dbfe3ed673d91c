"""Consistency tokens name what was written in the last minute, as far as it fits."""

from base64 import b64encode
from collections.abc import Sequence
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from uuid import uuid4
from zlib import compress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.datastore.errors import BadArgument
from penstock.datastore.resources.changes import RowChanges
from penstock.datastore.store import Store
from penstock.datastore.table.port import Key
from penstock.datastore.table.session_table import WrittenRow
from penstock.resolvers.consistency import (
    MAX_TOKEN_LENGTH,
    REMEMBERED_SECONDS,
    open_token,
    seal_token,
)
from penstock.resolvers.context import Context
from penstock.resolvers.cursors import Cursors
from tests.support.graphql_client import CURSORS
from tests.support.sample_resources import SUPER
from tests.support.work_account import Account

NOW = datetime(2026, 1, 2, tzinfo=UTC)
MINUTE = timedelta(seconds=REMEMBERED_SECONDS)


def token_of(keys: Sequence[Key], known: Sequence[WrittenRow] = (), now: datetime = NOW) -> str:
    return seal_token(CURSORS, known, [WrittenRow(key, int(now.timestamp())) for key in keys])


def keys_in(token: str, now: datetime = NOW) -> list[Key]:
    return [row.key for row in open_token(CURSORS, token, now)]


texts = st.text(st.characters(codec="utf-8"), max_size=20)


@given(st.lists(st.builds(Key, texts, texts), unique=True))
def test_a_token_names_the_rows_in_the_order_of_their_writing(keys: list[Key]) -> None:
    assert keys_in(token_of(keys)) == keys


def test_a_token_goes_on_naming_what_an_earlier_one_named() -> None:
    one, two = Key("one", "x"), Key("two", "x")
    known = open_token(CURSORS, token_of([one, two]), NOW)
    later = NOW + MINUTE / 2
    token = token_of([one], known, later)
    assert keys_in(token, later) == [two, one]
    assert keys_in(token, NOW + MINUTE) == [two, one]
    assert keys_in(token, NOW + MINUTE + timedelta(seconds=1)) == [one]
    assert keys_in(token, later + MINUTE + timedelta(seconds=1)) == []


def test_what_does_not_fit_is_left_out_from_the_oldest_on() -> None:
    keys = [Key(f"P:{CURSORS.seal('x', str(n))}", "PV:latest") for n in range(1000)]
    token = token_of(keys)
    assert len(token) <= MAX_TOKEN_LENGTH
    kept = keys_in(token)
    assert 50 < len(kept) < 1000
    assert kept == keys[-len(kept) :]


def test_a_single_row_that_is_too_long_is_left_out() -> None:
    keys = [Key("".join(chr(0x4E00 + n * 7 % 20_000) for n in range(3000)), "x")]
    assert keys_in(token_of(keys)) == []


@pytest.mark.parametrize(
    "payload",
    ["", "x", "eA==", b64encode(compress(b"{")).decode(), b64encode(compress(b"[1]")).decode()],
)
def test_what_another_release_sealed_is_refused(payload: str) -> None:
    with pytest.raises(BadArgument):
        open_token(CURSORS, CURSORS.seal("consistency token", payload), NOW)


@pytest.mark.parametrize("damage", ["", "x", "A" * 60, CURSORS.seal("another list", "x")])
def test_what_no_server_of_the_table_sealed_is_refused(damage: str) -> None:
    with pytest.raises(BadArgument):
        open_token(CURSORS, damage, NOW)
    token = seal_token(Cursors(b"the key of another table"), (), [])
    with pytest.raises(BadArgument):
        open_token(CURSORS, token, NOW)


@pytest.mark.parametrize("rows", [1, 50])
async def test_a_caller_owes_the_length_of_a_token(store: Store, rows: int) -> None:
    token = token_of([Key(f"P:{n}", uuid4().hex) for n in range(rows)], now=store.clock.now())
    for sent in (token, token[:-1]):
        account = Account()
        with suppress(BadArgument):
            Context.open(store, SUPER, CURSORS, RowChanges(store.table), account, token=sent)
        assert account.owed == len(sent) // 64
