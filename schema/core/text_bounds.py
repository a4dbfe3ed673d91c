"""Promises of fields about the length of their texts, so that the size of an answer has a bound."""

from typing import Final

from strawberry.types.field import StrawberryField

_KEY: Final = "penstock.text"


def text_metadata(characters: int) -> dict[object, int]:
    """Declare the most characters of a field's texts, as the `metadata` of its `strawberry.field`.

    Then a list of such texts need not be counted before it is written.
    """
    return {_KEY: characters}


def most_characters(field: object) -> int | None:
    """Return the most characters of a field's texts; None if it promises nothing."""
    return field.metadata.get(_KEY) if isinstance(field, StrawberryField) else None
