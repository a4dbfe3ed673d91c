"""Reads that lag: for some time after a write they see the item that stood there before."""

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final, NamedTuple, TypeAlias

from penstock.datastore.table.port import INDEX_HASH, Key
from tests.scale.partitions import TableKey
from tests.support.dynamodb_upstream import Body

Raw: TypeAlias = dict[str, Any]

_HASH: Final = re.compile(r"(#\w+) = (:\w+)")
_BEGINS: Final = re.compile(r"begins_with\((#\w+), (:\w+)\)")
_BETWEEN: Final = re.compile(r"(#\w+) BETWEEN (:\w+) AND (:\w+)")
_BOUND: Final = re.compile(r"(#\w+) (>=|<=) (:\w+)")


class _Change(NamedTuple):
    until: float
    before: Raw | None


class Images:
    """The items from before the latest changes, each until its change is seen everywhere."""

    def __init__(self, lag: float, clock: Callable[[], float]) -> None:
        self._lag = lag
        self._clock = clock
        self._changes: dict[TableKey, list[_Change]] = defaultdict(list)

    def note(self, before: Mapping[TableKey, Raw | None]) -> None:
        """Remember what stood under the keys before they were written."""
        until = self._clock() + self._lag
        for at, item in before.items():
            self._changes[at].append(_Change(until, item))

    def old(self, table: str) -> dict[Key, Raw | None]:
        """Return the items that reads still see, instead of those that stand there."""
        now = self._clock()
        for at in list(self._changes):
            self._changes[at] = [change for change in self._changes[at] if change.until > now]
            if not self._changes[at]:
                del self._changes[at]
        return {key: found[0].before for (of, key), found in self._changes.items() if of == table}

    def in_item(self, request: Body, answer: Body) -> Body:
        """Return the answer to GetItem as it was."""
        old = self.old(request["TableName"])
        key = _key(request["Key"])
        if key not in old:
            return answer
        kept = {name: value for name, value in answer.items() if name != "Item"}
        return {**kept, "Item": old[key]} if old[key] is not None else kept

    def in_batch(self, request: Body, answer: Body) -> Body:
        """Return the answer to BatchGetItem as it was."""
        found = dict(answer["Responses"])
        for table, wanted in request["RequestItems"].items():
            if wanted.get("ConsistentRead"):
                continue
            items = {_key(item): item for item in found.get(table, [])}
            old, asked = self.old(table), map(_key, wanted["Keys"])
            items.update({key: old[key] for key in asked if key in old})
            found[table] = [item for item in items.values() if item is not None]
        return {**answer, "Responses": found}

    def in_query(self, request: Body, answer: Body) -> Body:
        """Return the answer to Query as it was; the page has the same bounds, or ends earlier."""
        page = _Page(request, answer)
        items = {_key(item): item for item in answer["Items"]}
        for key, item in self.old(request["TableName"]).items():
            items.pop(key, None)
            if item is not None and page.holds(item):
                items[key] = item
        ordered = sorted(items.values(), key=page.place, reverse=page.descending)
        limit = request.get("Limit", len(ordered))
        changed = {**answer, "Items": ordered[:limit], "Count": len(ordered[:limit])}
        if len(ordered) > limit:
            changed["LastEvaluatedKey"] = page.start_behind(ordered[limit - 1])
        return changed


class _Page:
    """The items that a query's page covers."""

    def __init__(self, request: Body, answer: Body) -> None:
        self._index = "IndexName" in request
        self.descending = not request.get("ScanIndexForward", True)
        names = request["ExpressionAttributeNames"]
        values = {
            alias: value["S"] for alias, value in request["ExpressionAttributeValues"].items()
        }
        expression = request["KeyConditionExpression"]
        found = _HASH.match(expression)
        assert found, expression
        self._hash = (names[found[1]], values[found[2]])
        self._holds_sort_key = _sort_condition(expression, values)
        self._after = request.get("ExclusiveStartKey")
        self._last = answer.get("LastEvaluatedKey")

    def place(self, item: Raw) -> tuple[str, str]:
        return (item["pk"]["S"], item["sk"]["S"])

    def holds(self, item: Raw) -> bool:
        name, value = self._hash
        if item.get(name, {}).get("S") != value:
            return False
        if not self._holds_sort_key(item["pk" if self._index else "sk"]["S"]):
            return False
        place, step = self.place(item), -1 if self.descending else 1
        is_behind = self._after is None or _order(place, self.place(self._after)) == step
        return is_behind and (
            self._last is None or _order(self.place(self._last), place) in (step, 0)
        )

    def start_behind(self, item: Raw) -> Raw:
        names = ("pk", "sk", INDEX_HASH) if self._index else ("pk", "sk")
        return {name: item[name] for name in names}


def _order(one: tuple[str, str], other: tuple[str, str]) -> int:
    """Return 1 if `one` is behind the other in ascending order, -1 if before it, 0 if equal."""
    return (one > other) - (one < other)


def _sort_condition(expression: str, values: Mapping[str, str]) -> Callable[[str], bool]:
    if begins := _BEGINS.search(expression):
        prefix = values[begins[2]]
        return lambda text: text.startswith(prefix)
    if between := _BETWEEN.search(expression):
        low, high = values[between[2]], values[between[3]]
        return lambda text: low <= text <= high
    if bound := _BOUND.search(expression):
        limit = values[bound[3]]
        return (lambda text: text >= limit) if bound[2] == ">=" else (lambda text: text <= limit)
    return lambda _: True


def _key(item: Raw) -> Key:
    return Key(item["pk"]["S"], item["sk"]["S"])


def keys_to_read(keys: Iterable[TableKey]) -> dict[str, list[Raw]]:
    """Return the keys by table, as a batch read names them."""
    found: dict[str, list[Raw]] = defaultdict(list)
    for table, key in keys:
        found[table].append({"pk": {"S": key.pk}, "sk": {"S": key.sk}})
    return found
