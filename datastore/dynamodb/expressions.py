"""Conditions and updates as DynamoDB's expressions, every name and value behind an alias."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from penstock.datastore.dynamodb.wire import Raw, encode
from penstock.datastore.table.limits import SK_BYTES
from penstock.datastore.table.port import (
    AllOf,
    AnyOf,
    Compare,
    Condition,
    Exists,
    Missing,
    Range,
    Update,
    Value,
)

_LAST_OF_BYTES = ("", "\x7f", "\u07ff", "\uffff", "\U0010ffff")


@dataclass(slots=True)
class Aliases:
    """The names and values that the expressions of one operation share."""

    _names: dict[str, str] = field(default_factory=dict)
    _values: Raw = field(default_factory=dict)

    def name(self, attribute: str) -> str:
        return self._names.setdefault(attribute, f"#{len(self._names)}")

    def value(self, value: Value) -> str:
        alias = f":{len(self._values)}"
        self._values[alias] = encode(value)
        return alias

    def arguments(self) -> Raw:
        """The two maps as request fields; DynamoDB refuses an empty map, so it is left out."""
        arguments: Raw = {}
        if self._names:
            arguments["ExpressionAttributeNames"] = {
                alias: attribute for attribute, alias in self._names.items()
            }
        if self._values:
            arguments["ExpressionAttributeValues"] = dict(self._values)
        return arguments


def condition_expression(condition: Condition, aliases: Aliases) -> str:
    """Write the condition; an empty AllOf or AnyOf cannot be written and raises ValueError."""
    match condition:
        case Exists(attribute):
            return f"attribute_exists({aliases.name(attribute)})"
        case Missing(attribute):
            return f"attribute_not_exists({aliases.name(attribute)})"
        case Compare():
            return _comparison(condition, aliases)
        case AllOf(conditions):
            return _join_conditions(" AND ", conditions, aliases)
        case AnyOf(conditions):
            return _join_conditions(" OR ", conditions, aliases)


def _comparison(compare: Compare, aliases: Aliases) -> str:
    name = aliases.name(compare.attribute)
    comparison = f"{name} {compare.operator} {aliases.value(compare.value)}"
    if compare.operator != "<>":
        return comparison
    # For DynamoDB a missing attribute differs from every value; for the port it compares with none.
    return f"(attribute_exists({name}) AND {comparison})"


def _join_conditions(word: str, conditions: tuple[Condition, ...], aliases: Aliases) -> str:
    if not conditions:
        raise ValueError("a condition of no conditions")
    if len(conditions) == 1:  # DynamoDB refuses parentheses around a single condition
        return condition_expression(conditions[0], aliases)
    return f"({word.join(condition_expression(each, aliases) for each in conditions)})"


def update_expression(update: Update, aliases: Aliases) -> str:
    """Write the update; one without a change cannot be written and raises ValueError."""
    sets = [_assignment(name, value, aliases) for name, value in update.set.items()]
    sets += [_default(name, value, aliases) for name, value in update.default.items()]
    adds = [f"{aliases.name(name)} {aliases.value(value)}" for name, value in update.add.items()]
    removes = [aliases.name(name) for name in update.remove]
    clauses: Mapping[str, list[str]] = {"SET": sets, "ADD": adds, "REMOVE": removes}
    expression = " ".join(f"{verb} {', '.join(parts)}" for verb, parts in clauses.items() if parts)
    if not expression:
        raise ValueError(f"an update of {update.key} that changes nothing")
    return expression


def _assignment(attribute: str, value: Value, aliases: Aliases) -> str:
    return f"{aliases.name(attribute)} = {aliases.value(value)}"


def _default(attribute: str, value: Value, aliases: Aliases) -> str:
    name = aliases.name(attribute)
    return f"{name} = if_not_exists({name}, {aliases.value(value)})"


def key_expression(
    hash_key: str, partition: str, sort_key: str, keys: Range, aliases: Aliases
) -> str:
    """Write the partition and the range of its sort keys as a KeyConditionExpression."""
    expression = f"{aliases.name(hash_key)} = {aliases.value(partition)}"
    bounds = _range_condition(keys, aliases)
    if bounds is None:
        return expression
    return f"{expression} AND {bounds.format(aliases.name(sort_key))}"


def _range_condition(keys: Range, aliases: Aliases) -> str | None:
    """Write the one condition on the sort key that DynamoDB allows, with `{}` for the key's name.

    A prefix with `low` alone becomes BETWEEN: see `_last_key`.
    """
    low, high = keys.low, keys.high
    if keys.prefix and low is None and high is None:
        return f"begins_with({{}}, {aliases.value(keys.prefix)})"
    if keys.prefix:
        low = keys.prefix if low is None else low
        high = _last_key(keys.prefix) if high is None else high
    if low is not None and high is not None:
        return f"{{}} BETWEEN {aliases.value(low)} AND {aliases.value(high)}"
    if low is not None:
        return f"{{}} >= {aliases.value(low)}"
    if high is not None:
        return f"{{}} <= {aliases.value(high)}"
    return None


def _last_key(prefix: str) -> str:
    """The last key with the prefix: the prefix, and the last character that still fits.

    The last code point of all, U+10FFFF, is a noncharacter; no key contains it.
    """
    room = SK_BYTES - len(prefix.encode())
    return prefix + _LAST_OF_BYTES[max(0, min(room, 4))]
