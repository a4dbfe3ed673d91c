"""Programs of the document can read our runs, and we read items by their rules."""

from collections.abc import Mapping
from decimal import Decimal
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.datastore.dynamodb.wire import encode_item
from penstock.datastore.errors import IllegalState
from penstock.datastore.manifest import legacy_items
from penstock.datastore.manifest.records import RunState
from penstock.datastore.manifest.transitions import (
    Fail,
    Heartbeat,
    MarkLoaded,
    MarkProcessed,
    Reload,
    Skip,
    Unskip,
)
from penstock.datastore.session import Session
from penstock.datastore.store import Store
from tests.datastore.manifest.legacy_reader import TYPES, parse
from tests.datastore.manifest.sample_runs import (
    LOAD,
    LOADED_ITEM,
    NAME,
    NEW_ITEM,
    PROCESSED_ITEM,
    RUN_ID,
    TRANSFORM,
    bring_to,
    claim,
    run_name,
)
from tests.support.consistency_check import contents
from tests.support.sample_resources import on_sqlite

SEEN_AS = {
    RunState.NEW: "NEW",
    RunState.PROCESSING: "NEW",
    RunState.PROCESSED: "PROCESSED",
    RunState.LOADING: "PROCESSED",
    RunState.LOADED: "LOADED",
}


async def states_seen(store: Store) -> dict[str, tuple[str | None, list[str]]]:
    """The state and problems that a program of the document sees for every run in the table."""
    rows = await contents(store.table)
    items = [encode_item(item) for key, item in rows.items() if key.sk == "R"]
    return {item["RunId"]["S"]: parse(item) for item in items}


async def test_a_reader_of_the_document_understands_every_state(
    session: Session, store: Store
) -> None:
    for state in SEEN_AS:
        await bring_to(session, state, f"{state}/")
    await bring_to(session, RunState.FAILED, "FAILED to be transformed/")
    held = await bring_to(session, RunState.LOADING, "FAILED to load/")
    await session.runs.change(run_name("FAILED to load/"), Fail(fence=held.fence, error="e"))
    assert await states_seen(store) == {
        **{f"{state}/": (wanted, []) for state, wanted in SEEN_AS.items()},
        "FAILED to be transformed/": ("NEW", []),
        "FAILED to load/": ("PROCESSED", []),
    }


@on_sqlite
@pytest.mark.parametrize("seed", range(5))
async def test_a_reader_of_the_document_understands_whatever_is_done(
    session: Session, store: Store, seed: int
) -> None:
    random = Random(seed)
    await bring_to(session, RunState.NEW)
    for _ in range(40):
        run = await session.runs.one(NAME)
        fence = run.fence
        ask = random.choice(
            [
                Heartbeat(fence=fence),
                MarkProcessed(fence=fence, shred_types=(), saved_to="s3a://bucket/x"),
                MarkLoaded(fence=fence, loaded_by="l"),
                Fail(fence=fence, error="e"),
                Skip(reason="r"),
                Unskip(),
                Reload(reason="again", force=True),
            ]
        )
        try:
            if random.random() < 0.5:
                await claim(session, random.choice([TRANSFORM, LOAD]), owner="w")
            elif random.random() < 0.1:
                await session.run_recovery.reset(NAME, force=True)
            else:
                await session.runs.change(NAME, ask)
        except IllegalState:
            continue
        run = await session.runs.one(NAME)
        failed = "NEW" if run.processed_at is None else "PROCESSED"
        assert await states_seen(store) == {RUN_ID: (SEEN_AS.get(run.state, failed), [])}


@pytest.mark.parametrize(
    ("item", "state"),
    [
        (NEW_ITEM, RunState.NEW),
        ({**NEW_ITEM, "ToSkip": True, "Unknown": {"x"}}, RunState.NEW),
        ({**PROCESSED_ITEM, "ToSkip": True}, RunState.PROCESSED),
        ({**PROCESSED_ITEM, "ShredTypes": []}, RunState.PROCESSED),
        (LOADED_ITEM, RunState.LOADED),
        ({**NEW_ITEM, "AddedAt": Decimal("1544529600.0")}, RunState.NEW),
    ],
)
def test_the_state_of_an_item_follows_from_its_attributes(
    item: Mapping[str, Any], state: RunState
) -> None:
    run = legacy_items.read_item(item)
    assert isinstance(run, legacy_items.LegacyRun)
    assert run.state is state
    assert run.saved_to in {None, "s3://stage/run=2/"}


def without(item: Mapping[str, Any], *names: str) -> dict[str, Any]:
    return {name: value for name, value in item.items() if name not in names}


@pytest.mark.parametrize(
    ("item", "problems"),
    [
        ({}, ["RunId is missing", "AddedAt is missing", "AddedBy is missing", "ToSkip is missing"]),
        (
            {**NEW_ITEM, "AddedAt": "1544529600", "ToSkip": "false"},
            ["AddedAt must be a whole number", "ToSkip must be true or false"],
        ),
        ({**NEW_ITEM, "AddedAt": True}, ["AddedAt must be a whole number"]),
        ({**NEW_ITEM, "AddedAt": Decimal("1.5")}, ["AddedAt must be a whole number"]),
        ({**NEW_ITEM, "AddedAt": Decimal("1e999999")}, ["AddedAt must be a whole number"]),
        ({**NEW_ITEM, "AddedAt": -1}, ["AddedAt must be 0 to 9999999999 seconds"]),
        ({**NEW_ITEM, "AddedAt": 1544529600000}, ["AddedAt must be 0 to 9999999999 seconds"]),
        ({**PROCESSED_ITEM, "ShredTypes": [1]}, ["ShredTypes must hold strings"]),
        (without(PROCESSED_ITEM, "SavedTo"), ["ProcessedAt and ShredTypes without SavedTo"]),
        (without(LOADED_ITEM, "LoadedBy"), ["LoadedAt without LoadedBy"]),
        (
            without(LOADED_ITEM, "ProcessedAt", "ShredTypes", "SavedTo"),
            ["LoadedAt and LoadedBy without ProcessedAt and SavedTo and ShredTypes"],
        ),
        ({**LOADED_ITEM, "ToSkip": True}, ["it was loaded, and ToSkip is true"]),
        (
            {**PROCESSED_ITEM, "SavedTo": "/local/run=1", "AddedBy": ""},
            ["AddedBy must not be empty", "SavedTo must be a folder like `s3://bucket/path/`"],
        ),
        (
            {**NEW_ITEM, "RunId": "s3://bucket/run=1/"},
            ["RunId is a path inside of the bucket, without `s3://`"],
        ),
        ({**LOADED_ITEM, "LoadedBy": "x" * 129}, ["LoadedBy is longer than 128 characters"]),
        ({**PROCESSED_ITEM, "ShredTypes": [""]}, ["ShredTypes must not be empty (a type)"]),
    ],
)
def test_all_that_is_wrong_with_an_item_is_told(
    item: Mapping[str, Any], problems: list[str]
) -> None:
    assert legacy_items.read_item(item) == problems


VALUES = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.decimals(allow_nan=False, allow_infinity=False, places=2, min_value=-9, max_value=9),
    st.sampled_from(["", "s3://bucket/x/", "s3://b/", "a", "\ud800"]),
    st.lists(st.text(max_size=2) | st.integers(0, 3), max_size=2),
)
ITEMS = st.fixed_dictionaries({}, optional=dict.fromkeys(TYPES, VALUES))


@given(ITEMS, st.sampled_from([{}, NEW_ITEM, PROCESSED_ITEM, LOADED_ITEM]))
def test_we_take_nothing_for_valid_that_the_reference_does_not(
    changes: dict[str, Any], item: dict[str, Any]
) -> None:
    whole = {**item, **changes}
    read = legacy_items.read_item(whole)
    if isinstance(read, legacy_items.LegacyRun):
        assert parse(encode_item(whole)) == (read.state.value, [])
    else:
        assert read
