"""Writes the page docs/settings.md: `python -m penstock.server.settings.docs_page`."""

import sys
import textwrap
from collections.abc import Mapping
from typing import Final, Literal, get_args, get_origin

from pydantic.fields import FieldInfo

from penstock.server.settings.invalid_settings import PREFIX
from penstock.server.settings.settings import Settings

GROUPS: Final[Mapping[str, tuple[str, ...]]] = {
    "Address": ("host", "port", "admin_port", "public_url", "allowed_", "workers", "shutdown"),
    "Store": (
        "data_dir", "store", "table", "region", "endpoint_url", "dynamodb_",
        "counter_", "seed",
    ),
    "Files and buckets": (
        "bucket", "s3_", "kms_", "previous_kms_", "assume_", "private_", "ffmpeg",
    ),
    "Sign-in": (
        "issuer", "audience", "jwks_url", "algorithms", "roles_", "default_group", "clock_",
        "api_key_",
    ),
    "GraphQL and pages": (
        "graphiql", "console", "introspection", "http_", "persisted_", "trusted_", "executor",
        "debug",
    ),
    "Executions": ("execution_", "keep_", "upload_", "dask", "dataset_", "max_dataset"),
    "Limits of documents and answers": (
        "max_body", "max_document", "max_tokens", "max_comments", "max_depth", "max_aliases",
        "max_directives", "max_fields", "max_operations", "max_mutation", "max_input", "max_cost",
        "max_answer", "max_errors", "deadline_",
    ),
    "Limits of callers": ("rate_", "max_running", "max_open", "search_"),
    "Limits of connections and streams": (
        "max_connections", "max_bodies", "head_", "idle_", "stall_", "body_", "max_stream",
        "max_unproven", "stream_", "change_",
    ),
    "Quotas": ("quota_",),
    "Logs and metrics": ("metrics", "access_log", "log_"),
    "Lineage": ("openlineage_",),
    "Music players": ("opensubsonic",),
    "NGSI": ("ngsi",),
}  # fmt: skip
"""The groups of settings, by the beginnings of their names."""

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
    """Render the page: the groups, and in each a heading for each setting."""
    return "\n".join((_render_introduction(), *map(_render_group, GROUPS)))


def settings_of(group: str) -> list[str]:
    """Return the settings of a group, in the order of the page."""
    first = GROUPS[group]
    return [
        name for start in first for name in Settings.model_fields if _group_start(name) == start
    ]


def _group_start(name: str) -> str | None:
    """Return the longest start in the groups that a setting has."""
    starts = [start for group in GROUPS.values() for start in group if name.startswith(start)]
    return max(starts, key=len, default=None)


def _render_introduction() -> str:
    links = ", ".join(f"[{group}](#{group.lower().replace(' ', '-')})" for group in GROUPS)
    return f"{_INTRODUCTION}\n{textwrap.fill(links, 120, break_on_hyphens=False)}.\n"


def _render_group(group: str) -> str:
    fields = Settings.model_fields
    sections = (_render_section(name, fields[name]) for name in settings_of(group))
    return "\n".join((f"## {group}\n", *sections))


def _render_section(name: str, field: FieldInfo) -> str:
    description = textwrap.fill(field.description or "", 120, break_on_hyphens=False)
    lines = [f"### {PREFIX}{name.upper()}", "", description, ""]
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
