"""Records decoded straight from DynamoDB's JSON, by generated msgspec structs.

A struct holds DynamoDB's typed values, and its properties are the record's fields. No item is built
between the text and the record, and values that no field needs are skipped.
"""

from collections.abc import Callable, Mapping, Sequence
from enum import StrEnum
from functools import cache, lru_cache, partial
from operator import attrgetter
from types import GenericAlias, NoneType
from typing import Any, Final, NamedTuple, TypedDict, get_args, get_origin

import msgspec
import orjson
from msgspec.structs import FieldInfo, fields

from penstock.datastore.dynamodb.wire import (
    decode,
    decode_item,
    decode_key,
    decode_measured_item,
    encode_item,
)
from penstock.datastore.table.items import (
    EncodedItem,
    Projection,
    append_attributes,
    part_namespace,
    projected_fields,
)
from penstock.datastore.table.limits import READ_BLOCK
from penstock.datastore.table.port import Item, Value

_CACHED_DECODERS: Final = 1_000


class _Text(msgspec.Struct, frozen=True, gc=False):
    S: str


class _Number(msgspec.Struct, frozen=True, gc=False):
    N: str


class _Truth(msgspec.Struct, frozen=True, gc=False):
    BOOL: bool


class _MaybeText(msgspec.Struct, frozen=True, forbid_unknown_fields=True, gc=False):
    S: str | None = None
    NULL: bool | None = None


class _MaybeNumber(msgspec.Struct, frozen=True, forbid_unknown_fields=True, gc=False):
    N: str | None = None
    NULL: bool | None = None


class _ValueForm(NamedTuple):
    """The form of a type's values in the JSON: their struct, their letter and a conversion.

    Without a letter, the struct is the value. `null` is the struct of a null, if nulls are read in
    the same way.
    """

    struct: Any
    letter: str = ""
    then: Callable[[Any], Any] | None = None
    null: Any = None

    @property
    def value(self) -> Callable[[Any], Any]:
        """The function that makes a value of the struct."""
        content = attrgetter(self.letter) if self.letter else _identity
        return content if self.then is None else partial(_read_and_convert, content, self.then)


@lru_cache(_CACHED_DECODERS)
def decoder_of(record: type, projection: Projection) -> Callable[[bytes], Any]:
    """The decoder of rows with a record each: to the record, or to the projected fields."""
    part = projected_fields(record, projection)
    wanted = fields(record) if part is None else part
    held, properties = _struct_members(wanted, "")
    decode_part = msgspec.json.Decoder(_make_struct(record, held, properties)).decode
    if part is not None:
        converted = [field for field in wanted if _choose_form(field.type).then is not None]
        checks = [properties[field.name].fget for field in converted]
        return partial(_decode_checked, decode_part, checks) if checks else decode_part
    readers = [(field.encode_name, properties[field.name].fget) for field in wanted]
    return partial(_decode_whole, record, decode_part, readers)


def _decode_checked(
    decode_part: Callable[[bytes], Any], checks: Sequence[Callable[[Any], Any]], text: bytes
) -> Any:
    """Decode a view, and convert its values once so that a row of another form is refused now."""
    view = decode_part(text)
    for check in checks:
        check(view)
    return view


def _decode_whole(
    record: type,
    decode_part: Callable[[bytes], Any],
    readers: Sequence[tuple[str, Callable[[Any], Any]]],
    text: bytes,
) -> Any:
    # msgspec would replace a property that raises by the field's default, so we read them here.
    view = decode_part(text)
    values = {name: read(view) for name, read in readers}
    return msgspec.convert(values, record, from_attributes=True)


@cache
def _nested_struct(record: type) -> Any:
    """Make the struct of a record that is a value within another."""
    held, properties = _struct_members(fields(record), "M.")
    return _make_struct(record, [("M", _make_struct(record, held, {}))], properties)


@cache
def _may_be_nested(kind: Any) -> bool:
    """Whether a type is a record whose optional fields cannot fail to be read."""
    is_object = isinstance(kind, msgspec.StructMeta) and not kind.__struct_config__.array_like
    return is_object and all(
        field.required or _choose_form(field.type).then is None for field in fields(kind)
    )


def _make_struct(record: type, held: Sequence[tuple[Any, ...]], properties: dict[str, Any]) -> Any:
    namespace = {**properties, **part_namespace(record)}
    return msgspec.defstruct(
        record.__name__, held, namespace=namespace, kw_only=True, frozen=True, gc=False
    )


def _struct_members(
    wanted: Sequence[FieldInfo], inside: str
) -> tuple[list[tuple[Any, ...]], dict[str, Any]]:
    """The typed members of a struct, and the properties that are fields of the record."""
    held: list[tuple[Any, ...]] = []
    properties: dict[str, Any] = {}
    for field in wanted:
        name, form = f"told_{field.name}", _choose_form(field.type)
        absent = msgspec.NODEFAULT if field.required else form.null
        held.append((name, form.struct, msgspec.field(name=field.encode_name, default=absent)))
        properties[field.name] = property(_make_reader(f"{inside}{name}", form, field))
    return held, properties


def _make_reader(path: str, form: _ValueForm, field: FieldInfo) -> Callable[[Any], Any]:
    """The function that reads a field; it is a plain attrgetter where that is enough."""
    if field.required or (form.null is not None and field.default is None):
        whole = attrgetter(f"{path}.{form.letter}" if form.letter else path)
        return whole if form.then is None else partial(_read_and_convert, whole, form.then)
    return partial(_read_or_default, attrgetter(path), form.value, field)


def _read_and_convert(get: Callable[[Any], Any], then: Callable[[Any], Any], view: Any) -> Any:
    return then(get(view))


def _read_or_default(
    get: Callable[[Any], Any], then: Callable[[Any], Any], field: FieldInfo, view: Any
) -> Any:
    found = get(view)
    if found is not None:
        return then(found)
    factory = field.default_factory
    return field.default if factory is msgspec.NODEFAULT else factory()


def _choose_form(kind: Any) -> _ValueForm:
    """Choose the form of a type's values; a rare type is read as any value of DynamoDB's."""
    kind = getattr(kind, "__supertype__", kind)
    of = get_args(kind)
    if kind in _SIMPLE:
        return _SIMPLE[kind]
    if get_origin(kind) is tuple and of[1:] == (...,):
        return _list_form(_choose_form(of[0]))
    if isinstance(kind, type) and issubclass(kind, StrEnum):
        return _ValueForm(_Text, "S", kind)
    if _may_be_nested(kind):
        return _ValueForm(_nested_struct(kind))
    if of[1:] == (NoneType,):
        kind = getattr(of[0], "__supertype__", of[0]) | None
    return _MAYBE.get(kind) or _ValueForm(msgspec.Raw, "", partial(_convert_raw, kind))


def _list_form(item: _ValueForm) -> _ValueForm:
    struct = msgspec.defstruct(
        "L", [("L", GenericAlias(list, (item.struct,)))], frozen=True, gc=False
    )
    if not item.letter and item.then is None:
        return _ValueForm(struct, "L")
    return _ValueForm(struct, "L", partial(_convert_each, item.value))


def _convert_each(then: Callable[[Any], Any], items: list[Any]) -> tuple[Any, ...]:
    return tuple(map(then, items))


def _convert_raw(kind: Any, text: msgspec.Raw) -> Any:
    return msgspec.convert(decode(orjson.loads(bytes(text))), kind)


def _identity(value: Any) -> Any:
    return value


def _number_or_none(text: str | None) -> int | None:
    return None if text is None else int(text)


_SIMPLE: Final = {
    str: _ValueForm(_Text, "S"),
    int: _ValueForm(_Number, "N", int),
    bool: _ValueForm(_Truth, "BOOL"),
}
_MAYBE: Final = {
    str | None: _ValueForm(_MaybeText, "S", None, _MaybeText()),
    int | None: _ValueForm(_MaybeNumber, "N", _number_or_none, _MaybeNumber()),
}


class _KeyAttributes(TypedDict):
    pk: dict[str, str]
    sk: dict[str, str]


_decode_key_attributes: Callable[[msgspec.Raw], Any] = msgspec.json.Decoder(_KeyAttributes).decode


class WireItem(EncodedItem):
    """An item of an answer, as DynamoDB's JSON."""

    __slots__ = ()

    @classmethod
    def read(cls, text: msgspec.Raw) -> "WireItem":
        """Read the key, which every item has; the rest stays text."""
        return cls(decode_key(_decode_key_attributes(text)), bytes(text))

    @property
    def charged_size(self) -> int:
        """The bytes that DynamoDB counts, or a number for which it charges the same.

        No item is longer than its text, so only texts longer than a read block are measured.
        """
        length = len(self._text)
        return length if length <= READ_BLOCK else self._measure()

    def load(self, record: type, projection: Projection, more: Mapping[str, Value]) -> Any:
        added = orjson.dumps(encode_item(more)) if more else None
        text = self._text if added is None else append_attributes(self._text, added)
        return decoder_of(record, projection)(text)

    def _decode_all(self) -> Item:
        return decode_item(orjson.loads(self._text))

    def _measure(self) -> int:
        """Count the bytes, and keep the item that was decoded for it."""
        self._item, size = decode_measured_item(orjson.loads(self._text))
        return size
