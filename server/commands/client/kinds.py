"""The kinds of resources as commands call them, and as the API does."""

from typing import Literal, TypeAlias

Noun: TypeAlias = Literal["pipeline", "calculation", "dataset", "metric"]
TaggedNoun: TypeAlias = Literal["pipeline", "calculation", "dataset"]


def field_name(noun: Noun) -> str:
    """Return the name of the field that reads one of a kind; that of a list has an `s` behind."""
    return "referenceDataset" if noun == "dataset" else noun


def type_name(noun: Noun) -> str:
    """Return the name of the type of a kind."""
    field = field_name(noun)
    return field[0].upper() + field[1:]


def kind_name(noun: TaggedNoun) -> str:
    """Return the `ResourceKind` of a kind with tags."""
    return "REFERENCE_DATASET" if noun == "dataset" else noun.upper()
