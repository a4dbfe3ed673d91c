"""The syntax trees and the texts of modules."""

import ast
import gc
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.machinery import SourceFileLoader
from pathlib import Path
from types import CodeType


def parse_module(path: Path) -> ast.Module:
    """Parse a module."""
    with _without_collections():
        return ast.parse(path.read_text())


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
