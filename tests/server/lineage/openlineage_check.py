"""The check of events by the classes that OpenLineage makes of its specification."""

import json
import pkgutil
from enum import Enum
from functools import cache
from importlib import import_module
from types import UnionType
from typing import Any, Final, Union, get_args, get_origin, get_type_hints

import attr
from openlineage.client import generated
from openlineage.client.generated.base import BaseFacet, RunEvent

KEYS: Final = {"DatasetVersion": "version", "ProcessingEngine": "processing_engine"}
"""The keys of facets that are not called like their classes."""

FACETS: Final = ("InputDatasetFacet", "OutputDatasetFacet", "DatasetFacet", "RunFacet", "JobFacet")
"""The kinds of facets, as the names of their classes end."""


def check_event(text: bytes) -> dict[str, Any]:
    """Check the form of an event: each part is known, has what it needs, and the right type."""
    event: dict[str, Any] = json.loads(text)
    _read_object(RunEvent, event)
    return event


def _read(kind: Any, value: Any) -> object:
    origin = get_origin(kind)
    if origin in (Union, UnionType):
        (kind,) = [each for each in get_args(kind) if each is not type(None)]
        return _read(kind, value)
    if origin is list:
        assert isinstance(value, list)
        return [_read(get_args(kind)[0], each) for each in value]
    if origin is dict:
        assert isinstance(value, dict)
        return {key: _read_facet(key, get_args(kind)[1], each) for key, each in value.items()}
    if attr.has(kind):
        return _read_object(kind, value)
    if issubclass(kind, Enum):
        return kind(value)
    assert type(value) is kind
    return value


def _read_object(kind: Any, value: dict[str, Any]) -> object:
    fields, hints = attr.fields_dict(kind), get_type_hints(kind)
    assert set(value) <= set(fields), kind
    given = {
        str(fields[name].alias): _read(hints[name], each)
        for name, each in value.items()
        if fields[name].init
    }
    made = kind(**given)
    for name in ("schemaURL", "_schemaURL"):
        if name in fields:
            assert value[name] == getattr(made, name)
            producer: str = value[name.replace("schemaURL", "producer")]
            assert producer.startswith("https://")
    return made


def _read_facet(key: str, kind: type, value: dict[str, Any]) -> object:
    facet = _facets()[value["_schemaURL"]]
    assert issubclass(facet, kind)
    name = facet.__name__
    base = next(name.removesuffix(end) for end in FACETS if name.endswith(end))
    assert key == KEYS.get(base, base[0].lower() + base[1:])
    return _read_object(facet, value)


@cache
def _facets() -> dict[str, type]:
    """The classes of all facets by the addresses of their definitions."""
    names = [each.name for each in pkgutil.iter_modules(generated.__path__)]
    modules = [import_module(f"{generated.__name__}.{name}") for name in names]
    classes = {
        each
        for module in modules
        for each in vars(module).values()
        if isinstance(each, type) and issubclass(each, BaseFacet)
    }
    return {each._get_schema(): each for each in classes}
