"""Random transactions over few items, of the kinds that the product writes."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from hypothesis import strategies as st

from penstock.datastore.table.port import (
    AllOf,
    AnyOf,
    Check,
    Compare,
    Condition,
    Delete,
    Exists,
    Item,
    Key,
    Missing,
    Operation,
    Put,
    Update,
)

KEYS: Final = [Key("A", "1"), Key("A", "2"), Key("B", "1")]
CONDITIONS: Final[Sequence[Condition]] = [
    Exists(),
    Missing("s"),
    AllOf((Exists(), Missing("s"))),
    Compare("n", ">", 0),
    Compare("n", ">", 1),
    AnyOf((Missing("s"), Compare("s", "<", "b"))),
    Missing(),
    Exists("n"),
    Compare("n", "=", 1),
    Compare("n", "<>", 1),
    AllOf((Compare("s", "=", "b"), AnyOf((Missing("n"), Compare("n", "<=", 2))))),
]
CHANGES: Final[Sequence[Mapping[str, Any]]] = [
    {"add": {"n": 1}},
    {"add": {"n": -1}},
    {"add": {"n": 1}, "default": {"s": "a"}},
    {"add": {"n": 1}, "set": {"s": "b"}},
    {"add": {"n": 2, "m": 1}},
    {"default": {"s": "b"}},
    {"set": {"s": "c"}},
    {"set": {"n": 0}},
    {"default": {"n": 3}},
    {"remove": ("s",)},
    {"remove": ("n",), "set": {"s": "a"}},
]
ATTRIBUTES: Final[Sequence[Item]] = [
    {},
    {"n": 0},
    {"n": 1, "s": "b"},
    {"n": 2},
    {"s": "a"},
    {"n": 3, "s": "c", "m": 1},
]


def items_of(key: Key) -> st.SearchStrategy[Item]:
    return st.sampled_from(ATTRIBUTES).map(lambda more: {**key._asdict(), **more})


def updates_of(key: Key, kinds: int | None = None) -> st.SearchStrategy[Update]:
    """Draw an update; with `kinds` only of the first changes and conditions."""
    conditions = st.none() | st.sampled_from(CONDITIONS[:kinds])
    return st.builds(
        lambda change, condition: Update(key=key, condition=condition, **change),
        st.sampled_from(CHANGES[:kinds]),
        conditions,
    )


def operations_of(key: Key) -> st.SearchStrategy[Operation]:
    """Draw an operation; most can be merged with others, as most of the product's can."""
    maybe = st.none() | st.sampled_from(CONDITIONS)
    return st.one_of(
        updates_of(key, kinds=6),
        updates_of(key, kinds=6),
        updates_of(key),
        st.builds(Check, st.just(key), st.sampled_from(CONDITIONS)),
        st.builds(Put, items_of(key), maybe) | st.builds(Delete, st.just(key), maybe),
    )


def transactions() -> st.SearchStrategy[Sequence[Operation]]:
    rest = [st.none() | operations_of(key) for key in KEYS[1:]]
    return st.tuples(operations_of(KEYS[0]), *rest).map(
        lambda drawn: [each for each in drawn if each is not None]
    )


def stored_items() -> st.SearchStrategy[dict[Key, Item]]:
    return st.tuples(*(st.none() | items_of(key) for key in KEYS)).map(
        lambda drawn: {key: item for key, item in zip(KEYS, drawn, strict=True) if item is not None}
    )
