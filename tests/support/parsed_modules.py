"""The syntax trees of modules."""

import ast
import gc
from pathlib import Path


def parse_module(path: Path) -> ast.Module:
    """Parse a module without a garbage collection meanwhile.

    What a collection ends may parse something itself, and the parser of Python 3.11 fails if it is
    entered twice (gh-106905).
    """
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        return ast.parse(path.read_text())
    finally:
        if was_enabled:
            gc.enable()
