"""DynamoDB's limits, sizes and prices as pure arithmetic, which both tables apply.

Every `guard_*` is called before anything is sent. An excess that a user's input can cause is
`LimitExceeded`; one that only a mistake in the calling code can cause is `ValueError` (`TypeError`
for a foreign type).
"""

from collections.abc import Iterable, Mapping, Sequence
from decimal import Decimal
from functools import lru_cache
from itertools import chain
from typing import NamedTuple

from penstock.datastore.errors import InvalidCursor, LimitExceeded
from penstock.datastore.table.port import (
    INDEX_HASH,
    AllOf,
    AnyOf,
    Compare,
    Condition,
    Delete,
    FailedCheck,
    Item,
    Key,
    Operation,
    Put,
    Query,
    Range,
    Scan,
    Update,
    Value,
    key_of,
)

NUMBER_DIGITS = 38
NUMBER_EXPONENT = 125
NUMBER_NEGATIVE_EXPONENT = 130
NESTING = 32


def value_size(value: Value, level: int = 1) -> int:
    """Count the bytes of a value at a level of nesting; the outermost level is 1.

    Raises LimitExceeded for numbers, levels and names beyond the limits, TypeError for a foreign
    type and ValueError for a number that is not finite.
    """
    if level > NESTING:
        check_at_most("levels of nesting", NESTING, level)
    if isinstance(value, str):
        return len(value) if value.isascii() else len(value.encode())
    if value is None or isinstance(value, bool):
        return 1
    if isinstance(value, dict):
        return 3 + len(value) + _members_size(value, level + 1)
    if isinstance(value, list):
        return 3 + len(value) + sum([value_size(each, level + 1) for each in value])
    if isinstance(value, int):
        return _whole_number_size(value)
    if isinstance(value, Decimal):
        return _measure_number(value)
    raise TypeError(f"an item cannot hold a {type(value).__name__}")


def _members_size(members: Mapping[str, Value], level: int) -> int:
    """Count the bytes of names and values; most values are strings, and need no further call."""
    size = 0
    for name, value in members.items():
        if not name:
            check_at_most("empty attribute name", 0, 1)
        size += len(name) if name.isascii() else len(name.encode())
        if type(value) is str and level <= NESTING:
            size += len(value) if value.isascii() else len(value.encode())
        else:
            size += value_size(value, level)
    return size


@lru_cache(4096)
def _whole_number_size(value: int) -> int:
    """Check and measure a whole number; most are versions and counts, which repeat often."""
    return _measure_number(value)


def number_size(value: int | Decimal) -> int:
    """Count a byte for the number, one for a minus, and one for every two digits.

    Digits are paired from the decimal point outwards, so with an even exponent the first digit is
    alone. Limits are not checked.
    """
    return _size_of_digits(*_digits(value), is_negative=value < 0)


def _measure_number(value: int | Decimal) -> int:
    """Check and measure a number."""
    digits, exponent = _digits(value)
    if digits:
        check_at_most("digits of a number", NUMBER_DIGITS, len(digits))
        check_at_most("exponent of a number", NUMBER_EXPONENT, exponent)
        check_at_most("negative exponent of a number", NUMBER_NEGATIVE_EXPONENT, -exponent)
    return _size_of_digits(digits, exponent, is_negative=value < 0)


def _size_of_digits(digits: str, exponent: int, *, is_negative: bool) -> int:
    pairs = (len(digits) + (exponent + 1) % 2 + 1) // 2
    return 1 + pairs + is_negative if digits else 1


def _digits(value: int | Decimal) -> tuple[str, int]:
    """The significant digits, none for zero, and the power of ten of the first digit."""
    if isinstance(value, int):
        digits = str(abs(value))
        exponent = len(digits) - 1
    elif value.is_finite():
        digits = "".join(map(str, value.as_tuple().digits))
        exponent = value.adjusted()
    else:
        raise ValueError(f"{value} is not a number")
    return digits.strip("0"), exponent


def check_at_most(limit: str, maximum: int, actual: int) -> None:
    """Raise LimitExceeded, with `limit` as its name, if the value is above the maximum."""
    if actual > maximum:
        raise LimitExceeded(limit, maximum, actual)


KB = 1024
READ_BLOCK = 4 * KB
ITEM_BYTES = 400 * KB
PK_BYTES = 2048
SK_BYTES = 1024
INDEX_HASH_BYTES = 2048
INDEX_RANGE_BYTES = 1024
TRANSACTION_OPERATIONS = 100
TRANSACTION_BYTES = 4 * KB * KB
GET_KEYS = 100
WRITE_OPERATIONS = 25
PAGE_BYTES = KB * KB
SCAN_SEGMENTS = 1_000_000

INDEXED_PK = "pk in the index"


class ItemFootprint(NamedTuple):
    """The bytes of an item, and its `siKey1` if it has one: all that the price of a write needs."""

    size: int
    index_hash: str | None


def item_size(item: Mapping[str, Value]) -> int:
    """Count the bytes of names and values as DynamoDB does; refuse values that it cannot store."""
    return _members_size(item, 1)


def measure_item(item: Item) -> ItemFootprint:
    """Measure an item before it is stored; raises LimitExceeded where a part of it is too large."""
    key = key_of(item)
    _guard_key(key)
    index_hash = _guard_entry(item[INDEX_HASH], key) if INDEX_HASH in item else None
    size = item_size(item)
    check_at_most("bytes of an item", ITEM_BYTES, size)
    return ItemFootprint(size, index_hash)


def read_units(size: int, *, consistent: bool) -> float:
    """The read units of one item (0 bytes if it is missing), or of a page by its total size."""
    return _blocks(size, READ_BLOCK) * (1.0 if consistent else 0.5)


def batch_units(sizes: Iterable[int], *, consistent: bool) -> float:
    """The read units of a batch; each item is rounded up alone, and a missing one has 0 bytes."""
    return sum(read_units(size, consistent=consistent) for size in sizes)


def page_units(sizes: Iterable[int], *, index: bool, consistent: bool) -> float:
    """The read units of a query's page, by the items examined; the index is never consistent."""
    return read_units(sum(sizes), consistent=consistent and not index)


def write_units(
    old: ItemFootprint | None,
    new: ItemFootprint | None,
    *,
    transactional: bool = False,
    same: bool = False,
) -> float:
    """The write units of changing an item from `old` to `new`; None means no item.

    The units of the index are included. A transaction writes the item twice, to prepare and to
    commit, but its index entry once. An item that stays the same (`same`) leaves the index alone.
    """
    size = max(old.size if old else 0, new.size if new else 0)
    base = _blocks(size, KB) * (2 if transactional else 1)
    return float(base if same else base + _index_blocks(old, new))


def check_units(old: ItemFootprint | None) -> float:
    """The write units of a check, and of each operation of a transaction that failed."""
    return float(2 * _blocks(old.size if old else 0, KB))


def refused_units(operations: int, failed: Sequence[FailedCheck]) -> float:
    """The write units of a refused transaction; items that are not known count as absent."""
    standing = {check.position: check.item for check in failed}
    footprints = (
        measure_item(item) if (item := standing.get(position)) else None
        for position in range(operations)
    )
    return sum(map(check_units, footprints))


def guard_get(keys: Sequence[Key]) -> None:
    _guard_keys("keys of a read", GET_KEYS, keys)
    for key in keys:
        _guard_key(key)


def guard_query(query: Query) -> None:
    """Check the keys and limits of a query.

    Raises ValueError also for a `low` behind `high`, and InvalidCursor for an `after` outside the
    range, because clients hand it back in a cursor.
    """
    wanted = query.range
    if query.index:
        _guard_text(INDEX_HASH, INDEX_HASH_BYTES, query.partition)
    else:
        _guard_text("pk", PK_BYTES, query.partition)
    sort, most = (INDEXED_PK, INDEX_RANGE_BYTES) if query.index else ("sk", SK_BYTES)
    for bound in (wanted.prefix or None, wanted.low, wanted.high):
        if bound is not None:
            _guard_text(sort, most, bound)
            if not bound.startswith(wanted.prefix):
                raise ValueError(f"{bound!r} does not begin with {wanted.prefix!r}")
    if wanted.low is not None and wanted.high is not None and wanted.low > wanted.high:
        raise ValueError(f"{wanted.low!r} lies behind {wanted.high!r}")
    if query.limit is not None and query.limit < 1:
        raise ValueError(f"a page holds at least one item, not {query.limit}")
    if query.after is not None:
        _guard_start(query, query.after)


def guard_scan(scan: Scan) -> None:
    """Check the segment and the start of a scan; raises ValueError."""
    if not 0 <= scan.segment < scan.segments <= SCAN_SEGMENTS:
        raise ValueError(f"there is no segment {scan.segment} of {scan.segments}")
    if scan.limit is not None and scan.limit < 1:
        raise ValueError(f"a page holds at least one item, not {scan.limit}")
    if scan.after is not None:
        _guard_key(scan.after)


def guard_transact(operations: Sequence[Operation]) -> list[int]:
    """Check the operations of a transaction; return the bytes that each of them sends."""
    keys = [operation.key for operation in operations]
    _guard_keys("operations of a transaction", TRANSACTION_OPERATIONS, keys)
    sizes = [*map(_operation_size, operations)]
    check_at_most("bytes of a transaction", TRANSACTION_BYTES, sum(sizes))
    return sizes


def guard_write(operations: Sequence[Put | Delete]) -> list[int]:
    """Check the writes of a batch; return the bytes that each of them sends."""
    keys = [operation.key for operation in operations]
    _guard_keys("operations of a write", WRITE_OPERATIONS, keys)
    for operation in operations:
        if operation.condition is not None:
            raise ValueError("a write outside a transaction has no condition")
    return [*map(_operation_size, operations)]


def _blocks(size: int, block: int) -> int:
    return max(1, -(-size // block))


def _index_blocks(old: ItemFootprint | None, new: ItemFootprint | None) -> int:
    before = old if old and old.index_hash is not None else None
    after = new if new and new.index_hash is not None else None
    if before and after and before.index_hash == after.index_hash:
        return _blocks(max(before.size, after.size), KB)
    return sum(_blocks(each.size, KB) for each in (before, after) if each)


def _operation_size(operation: Operation) -> int:
    """Count the bytes an operation sends."""
    if operation.condition is not None:
        _guard_condition(operation.condition)
    if isinstance(operation, Put):
        return measure_item(operation.item).size
    _guard_key(operation.key)
    size = item_size({"pk": operation.key.pk, "sk": operation.key.sk})
    if isinstance(operation, Update):
        size += _update_size(operation)
        check_at_most("bytes of an item", ITEM_BYTES, size)
    return size


def _update_size(update: Update) -> int:
    names = [*chain(update.set, update.default, update.add, update.remove)]
    if not names:
        raise ValueError("an update changes something")
    if len(set(names)) < len(names):
        raise ValueError("an update names an attribute twice")
    if not {"pk", "sk"}.isdisjoint(names) or INDEX_HASH in update.add:
        raise ValueError("an update leaves the key alone, and adds to numbers")
    for assigned in (update.set, update.default):
        if INDEX_HASH in assigned:
            _guard_entry(assigned[INDEX_HASH], update.key)
    for amount in update.add.values():
        guard_number(amount)
    return item_size(update.set) + item_size(update.default) + item_size(update.add)


def guard_number(value: Value) -> int | Decimal:
    """Raise TypeError for a value that cannot be added."""
    if isinstance(value, bool) or not isinstance(value, int | Decimal):
        raise TypeError(f"{value!r} is no number")
    return value


def _guard_condition(condition: Condition) -> None:
    if isinstance(condition, AllOf | AnyOf):
        if not condition.conditions:
            raise ValueError("an empty list of conditions says nothing")
        for each in condition.conditions:
            _guard_condition(each)
    elif isinstance(condition, Compare):
        if isinstance(condition.value, bool) and condition.operator not in {"=", "<>"}:
            raise ValueError("truth values have no order")
        value_size(condition.value)


def _guard_keys(limit: str, maximum: int, keys: Sequence[Key]) -> None:
    if not keys:
        raise ValueError(f"no {limit}")
    check_at_most(limit, maximum, len(keys))
    if len(set(keys)) < len(keys):
        raise ValueError("a key is named twice")


def _guard_key(key: Key) -> None:
    _guard_text("pk", PK_BYTES, key.pk)
    _guard_text("sk", SK_BYTES, key.sk)


def _guard_entry(index_hash: Value, key: Key) -> str:
    """Check an item's entry in the index, where `pk` is the sort key and must be shorter."""
    if not isinstance(index_hash, str):
        raise TypeError(f"{INDEX_HASH} is a string")
    _guard_text(INDEX_HASH, INDEX_HASH_BYTES, index_hash)
    _guard_text(INDEXED_PK, INDEX_RANGE_BYTES, key.pk)
    return index_hash


def _guard_text(name: str, maximum: int, text: str) -> None:
    if _fits(text, maximum):
        return
    check_at_most(f"bytes of {name}", maximum, len(text.encode()))
    check_at_most(f"empty {name}", 0, int(not text))


def _guard_start(query: Query, after: Key) -> None:
    fits_key = _fits(after.pk, PK_BYTES) and _fits(after.sk, SK_BYTES)
    in_partition = query.index or after.pk == query.partition
    if not (
        fits_key
        and in_partition
        and _is_in_range(query.range, after.pk if query.index else after.sk)
    ):
        raise InvalidCursor


def _fits(text: str, maximum: int) -> bool:
    return 0 < (len(text) if text.isascii() else len(text.encode())) <= maximum


def _is_in_range(wanted: Range, text: str) -> bool:
    # Text compares by code point, whose order is that of UTF-8.
    return (
        text.startswith(wanted.prefix)
        and (wanted.low is None or wanted.low <= text)
        and (wanted.high is None or text <= wanted.high)
    )
