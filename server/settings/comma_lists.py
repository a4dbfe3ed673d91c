"""Settings that are lists, written with commas between their entries."""

from typing import Annotated, TypeAlias, TypeVar

from pydantic import BeforeValidator
from pydantic_settings import NoDecode

T = TypeVar("T")


def _split_commas(value: object) -> object:
    if not isinstance(value, str):
        return value
    return tuple(part.strip() for part in value.split(",") if part.strip())


CommaList: TypeAlias = Annotated[tuple[T, ...], NoDecode, BeforeValidator(_split_commas)]
"""A list that is given as a text with commas: `hosts: CommaList[str]`."""
