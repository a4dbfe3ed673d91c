"""Formulas as they are shown: with the names that what they call and look up has now.

A text that is saved is read with the names of that moment. So a formula that is read and saved
again means the same, whatever was renamed since it was written.
"""

from asyncio import gather
from collections.abc import Awaitable, Mapping, Sequence
from functools import cache, partial
from operator import attrgetter
from typing import Any, Final, NamedTuple, TypeAlias, TypeVar

from cachetools import LRUCache
from msgspec.structs import replace

from penstock.datastore.access.work import renaming_units
from penstock.datastore.errors import NotFound
from penstock.datastore.formulas.threads import run_in_formula_thread
from penstock.datastore.records import (
    Calculation,
    Metric,
    Pipeline,
    Reference,
    Resource,
    Transformer,
)
from penstock.datastore.resources.calculation_refs import ReferenceKey
from penstock.datastore.table.layout import CALCULATION, REFERENCE_DATASET, KindDefinition
from penstock.datastore.text import comparison_form
from penstock.formula.checking.renaming import NewName, rename
from penstock.formula.syntax.parser import is_callable_name
from penstock.resolvers.context import Context
from penstock.resolvers.metrics import shown_inputs

R = TypeVar("R", bound=Resource)
Texts: TypeAlias = tuple[str, ...]
NewNames: TypeAlias = Mapping[ReferenceKey, str]

KEPT_CHARACTERS: Final = 2_000_000
_ENTRY_CHARACTERS: Final = 500
"""The weight of an entry without texts, and of each of its names."""


class _ShownTexts(NamedTuple):
    """Texts with other names, and the weight of keeping them, in characters."""

    texts: Texts
    weight: int


# What a text becomes depends on nothing but the names, so all callers share it.
_KEPT: Final = LRUCache[tuple[Texts, frozenset[tuple[ReferenceKey, str]]], _ShownTexts](
    KEPT_CHARACTERS, attrgetter("weight")
)


def current_formula(context: Context, calculation: Calculation) -> str | Awaitable[str]:
    """The formula of a version with current names; awaited only if it names anything."""
    if not calculation.references:
        return calculation.formula
    return _rename_formula(context, calculation)


def current_transformer(
    context: Context, pipeline: Pipeline
) -> Transformer | Awaitable[Transformer]:
    """The transformer of a version with current names; awaited only if it names anything."""
    if not pipeline.references:
        return pipeline.transformer
    return _rename_transformer(context, pipeline)


async def with_current_names(context: Context, version: R) -> R:
    """A whole version, its formulas and inputs with current names."""
    if isinstance(version, Calculation):
        return replace(version, formula=await _rename_formula(context, version))
    if isinstance(version, Pipeline):
        return replace(version, transformer=await _rename_transformer(context, version))
    if isinstance(version, Metric):
        return replace(version, inputs=await shown_inputs(context, version))
    return version


async def _rename_formula(context: Context, calculation: Calculation) -> str:
    names = await _find_new_names(context, calculation.references)
    (text,) = await _rename_all(context, (calculation.formula,), names)
    return text


async def _rename_transformer(context: Context, pipeline: Pipeline) -> Transformer:
    names = await _find_new_names(context, pipeline.references)
    transforms = pipeline.transformer.transforms
    texts = await _rename_all(context, tuple(one.formula for one in transforms), names)
    shown = [replace(one, formula=text) for one, text in zip(transforms, texts, strict=True)]
    return replace(pipeline.transformer, transforms=tuple(shown))


async def _find_new_names(context: Context, references: Sequence[Reference]) -> NewNames:
    """The present names, where they differ, of what the caller sees and a formula can name."""
    named = [one for one in references if one.name]
    found = await gather(*(_find_new_name(context, one) for one in named))
    return {
        ReferenceKey(one.kind, one.name, one.group): name
        for one, name in zip(named, found, strict=True)
        if name is not None
    }


async def _find_new_name(context: Context, reference: Reference) -> str | None:
    is_call = reference.kind == CALCULATION.letter
    kind: KindDefinition[Any] = CALCULATION if is_call else REFERENCE_DATASET
    try:
        found = await context.loaders.of(kind).latest(reference.id, frozenset(("name",)))
    except NotFound:
        return None
    name: str = found.name
    is_changed = comparison_form(name) != reference.name
    return name if is_changed and (not is_call or is_callable_name(name)) else None


async def _rename_all(context: Context, texts: Texts, names: NewNames) -> Texts:
    """The texts with other names; the caller pays for those that were not shown lately."""
    if not names:
        return texts
    key = texts, frozenset(names.items())
    kept = _KEPT.get(key)
    if kept is None:
        # A caller in debt may still read formulas that cost less than a unit.
        if units := renaming_units(sum(map(len, texts))):
            context.session.spend_on_answer(units)
        kept = await run_in_formula_thread(partial(_rename_texts, texts, names))
        if kept.weight <= KEPT_CHARACTERS:
            _KEPT[key] = kept
    return kept.texts


def _rename_texts(texts: Texts, names: NewNames) -> _ShownTexts:
    @cache
    def find(kind: str, name: str, group: str | None) -> str | None:
        return names.get(ReferenceKey.of(kind, name, group))

    def new_name(kind: str) -> NewName:
        return partial(find, kind)

    calculation, dataset = new_name(CALCULATION.letter), new_name(REFERENCE_DATASET.letter)
    renamed = tuple(rename(text, calculation, dataset) for text in texts)
    characters = sum(map(len, (*texts, *renamed)))
    return _ShownTexts(renamed, characters + _ENTRY_CHARACTERS * (1 + len(names)))
