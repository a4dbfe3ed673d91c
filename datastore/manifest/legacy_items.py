"""Items of manifest tables that other programs wrote, read by the rules of the document."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from decimal import Decimal
from typing import Any, Final

import msgspec

from penstock.datastore.manifest import rules
from penstock.datastore.manifest.records import RunState
from penstock.datastore.table.port import Value

ATTRIBUTES: Final = {
    "RunId": str,
    "AddedAt": int,
    "AddedBy": str,
    "ToSkip": bool,
    "ProcessedAt": int,
    "ShredTypes": list,
    "SavedTo": str,
    "LoadedAt": int,
    "LoadedBy": str,
}
"""The document's attributes; times are whole seconds since the epoch."""

REQUIRED_ATTRIBUTES: Final = ("RunId", "AddedAt", "AddedBy", "ToSkip")
PROCESSED_ATTRIBUTES: Final = ("ProcessedAt", "ShredTypes", "SavedTo")
LOADED_ATTRIBUTES: Final = ("LoadedAt", "LoadedBy")

_WORDS: Final = {str: "a string", int: "a whole number", bool: "true or false", list: "a list"}


class LegacyRun(msgspec.Struct, frozen=True, kw_only=True, rename="pascal"):
    """A run with the document's attributes; its state follows from those that are present."""

    run_id: str
    added_at: int
    added_by: str
    to_skip: bool
    processed_at: int | None = None
    shred_types: tuple[str, ...] | None = None
    saved_to: str | None = None
    loaded_at: int | None = None
    loaded_by: str | None = None

    @property
    def state(self) -> RunState:
        if self.processed_at is None:
            return RunState.NEW
        return RunState.PROCESSED if self.loaded_at is None else RunState.LOADED


def read_item(item: Mapping[str, Value]) -> LegacyRun | list[str]:
    """The run in an item, or all problems of the item; unknown attributes are ignored."""
    known = {name: _whole_number(item[name]) for name in ATTRIBUTES if name in item}
    problems = [f"{name} is missing" for name in REQUIRED_ATTRIBUTES if name not in known]
    problems += [
        problem for name, value in known.items() for problem in _type_problems(name, value)
    ]
    problems += _state_problems(known)
    if problems:
        return problems
    run = msgspec.convert(known, LegacyRun)
    found = [f"{name} {problem}" for name, problem in _content_problems(run) if problem]
    if found:
        return found
    return (
        run
        if run.saved_to is None
        else msgspec.structs.replace(run, saved_to=rules.canonical_folder(run.saved_to))
    )


def _whole_number(value: Value) -> Value:
    """The number as an int if it is a whole decimal; very large ones stay as they are."""
    if isinstance(value, Decimal) and abs(value) <= rules.LAST_SECOND and value % 1 == 0:
        return int(value)
    return value


def _type_problems(name: str, value: Value) -> Iterator[str]:
    wanted: Any = ATTRIBUTES[name]
    if not isinstance(value, wanted) or (wanted is int and isinstance(value, bool)):
        yield f"{name} must be {_WORDS[wanted]}"
    elif isinstance(value, list) and not all(isinstance(entry, str) for entry in value):
        yield f"{name} must hold strings"
    elif wanted is int and not 0 <= int(str(value)) <= rules.LAST_SECOND:
        yield f"{name} must be 0 to {rules.LAST_SECOND} seconds"


def _state_problems(known: Mapping[str, Value]) -> Iterator[str]:
    processed, loaded = (
        _present_names(known, PROCESSED_ATTRIBUTES),
        _present_names(known, LOADED_ATTRIBUTES),
    )
    if 0 < len(processed) < len(PROCESSED_ATTRIBUTES):
        missing = set(PROCESSED_ATTRIBUTES) - set(processed)
        yield f"{_join_names(processed)} without {_join_names(missing)}"
    if 0 < len(loaded) < len(LOADED_ATTRIBUTES):
        yield f"{_join_names(loaded)} without {_join_names(set(LOADED_ATTRIBUTES) - set(loaded))}"
    if loaded and not processed:
        yield f"{_join_names(loaded)} without {_join_names(PROCESSED_ATTRIBUTES)}"
    if loaded and known.get("ToSkip") is True:
        yield "it was loaded, and ToSkip is true"


def _content_problems(run: LegacyRun) -> rules.NamedProblems:
    yield "RunId", rules.run_id_problem(run.run_id)
    yield "AddedBy", rules.short_problem(run.added_by)
    if run.saved_to is not None:
        yield "SavedTo", rules.folder_problem(run.saved_to)
    if run.loaded_by is not None:
        yield "LoadedBy", rules.short_problem(run.loaded_by)
    yield "ShredTypes", rules.shred_types_problem(run.shred_types or ())


def _present_names(known: Mapping[str, Value], names: Sequence[str]) -> list[str]:
    return [name for name in names if name in known]


def _join_names(names: Iterable[str]) -> str:
    return " and ".join(sorted(names))
