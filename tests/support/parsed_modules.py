"""The syntax trees and the texts of modules."""

import ast
import gc
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from importlib.machinery import SourceFileLoader
from pathlib import Path
from types import CodeType


def parse_module(path: Path) -> ast.Module:
    """Parse a module."""
    return _parse(path.read_text())


def parse_naming(path: Path, names: Collection[str]) -> ast.Module | None:
    """Parse a module that may use one of the names; None if none of them stands in its text.

    To parse all modules of the product takes most of a second, and few have what a test looks for.
    """
    text = path.read_text()
    return _parse(text) if any(name in text for name in names) else None


def _parse(text: str) -> ast.Module:
    with _without_collections():
        return ast.parse(text)


def texts_of_module(path: Path) -> Iterator[str]:
    """Yield the texts in a module: in its compiled form, which is quicker to read than its tree."""
    with _without_collections():
        code = SourceFileLoader(path.stem, str(path)).get_code(path.stem)
    return _texts_in(code)


def _texts_in(constant: object) -> Iterator[str]:
    if isinstance(constant, str):
        yield constant
        return
    parts = constant.co_consts if isinstance(constant, CodeType) else constant
    for part in parts if isinstance(parts, tuple | frozenset) else ():
        yield from _texts_in(part)


@contextmanager
def _without_collections() -> Iterator[None]:
    """Put garbage collections off.

    What a collection ends may parse something itself, and the parser of Python 3.11 fails if it is
    entered twice (gh-106905).
    """
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()
