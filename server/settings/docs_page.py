"""Writes the page docs/settings.md: `python -m penstock.server.settings.docs_page`."""

import sys
import textwrap
from typing import Literal, get_args, get_origin

from pydantic.fields import FieldInfo

from penstock.server.settings.invalid_settings import PREFIX
from penstock.server.settings.settings import Settings

_INTRODUCTION = """\
# Settings

Every setting is an environment variable. The options of the command line that are named like one
win over it. All values are checked together at start; what does not fit is reported in one list,
with exit code 2, before anything is opened.

Lists are separated by commas. An empty variable counts as unset.

On Kubernetes set `enableServiceLinks: false` for the pod: for a service named `penstock` the
platform otherwise sets `PENSTOCK_PORT` to an address of its own.
"""


def render_page() -> str:
    """Render the page: one heading for each setting, in the order of the class."""
    sections = (_render_section(name, field) for name, field in Settings.model_fields.items())
    return "\n".join((_INTRODUCTION, *sections))


def _render_section(name: str, field: FieldInfo) -> str:
    description = textwrap.fill(field.description or "", 120, break_on_hyphens=False)
    lines = [f"## {PREFIX}{name.upper()}", "", description, ""]
    if choices := _choices(field.annotation):
        lines.append(f"- one of: {', '.join(f'`{choice}`' for choice in choices)}")
    lines.append(f"- default: {_format_default(field.default)}")
    return "\n".join(lines) + "\n"


def _choices(annotation: object) -> tuple[str, ...]:
    if get_origin(annotation) is Literal:
        return get_args(annotation)
    inner = get_args(annotation)
    return _choices(inner[0]) if inner else ()


def _format_default(default: object) -> str:
    match default:
        case None | ():
            return "none"
        case bool():
            return f"`{str(default).lower()}`"
        case tuple():
            return f"`{','.join(map(str, default))}`"
        case _:
            return f"`{default}`"


if __name__ == "__main__":
    sys.stdout.write(render_page())
