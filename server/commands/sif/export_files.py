"""Reads an export of AWS SIF: items of its DynamoDB tables, files of its bucket, activities as CSV.

`tables/<name>/*.json` or `.json.gz` are what DynamoDB exports to S3: a line for each item. `files/`
is a copy of the bucket. `activities/<table>.csv` are the tables of PostgreSQL, with headings.
"""

import gzip
import json
from collections.abc import Iterator, Mapping
from decimal import Decimal
from os.path import isfile
from pathlib import Path
from typing import Any, Final

from penstock.server.core.command_output import CommandFailed, ExitCode

TABLES: Final = ("accessManagement", "calculations", "impacts", "pipelines", "referenceDatasets")
MOST_ITEM_BYTES: Final = 16 * 1024 * 1024
"""Bytes of a line, far more than DynamoDB lets an item have."""

Item = Mapping[str, Any]


class SifExport:
    """An export in a folder; raises CommandFailed for a folder without any table."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        if not any((folder / "tables" / name).is_dir() for name in TABLES):
            words = f"{folder} has no folder tables/ with one of {', '.join(TABLES)}."
            raise CommandFailed(words, code=ExitCode.USAGE)

    def resources(self, table: str, letter: str) -> list[Item]:
        """Return the latest version of each resource of a kind, in the order of their creation.

        SIF keeps it under its id in both keys; versions, grants, tags and counters have other keys.
        """
        items = (item for item in self._items(table) if item.get("pk") == item.get("sk"))
        found = [item for item in items if str(item["pk"]).startswith(f"{letter}:")]
        return sorted(found, key=lambda item: str(item.get("id", item["pk"])))

    def count_versions(self, table: str, prefix: str) -> int:
        """Count the items of earlier versions, whose sort keys begin so."""
        return sum(str(item.get("sk", "")).startswith(f"{prefix}:") for item in self._items(table))

    def file(self, key: str) -> Path | None:
        """Return the copy of a file of the bucket; None if there is none, or can be none."""
        root = (self.folder / "files").resolve()
        try:
            path = (root / key).resolve()
        except ValueError:
            return None
        return path if path.is_relative_to(root) and isfile(path) else None

    def activities(self, table: str) -> Path | None:
        """Return the CSV of a table of activities; None if there is none."""
        path = self.folder / "activities" / f"{table}.csv"
        return path if path.is_file() else None

    def _items(self, table: str) -> Iterator[Item]:
        folder = self.folder / "tables" / table
        for path in sorted([*folder.glob("**/*.json"), *folder.glob("**/*.json.gz")]):
            with gzip.open(path, "rb") if path.suffix == ".gz" else path.open("rb") as lines:
                for n in range(1, 2**62):
                    line = lines.readline(MOST_ITEM_BYTES)
                    if not line:
                        break
                    if line.strip():
                        yield _read_item(line, f"{path}:{n}")


def _read_item(line: bytes, place: str) -> Item:
    try:
        item = json.loads(line)["Item"]
        return {name: plain_value(value) for name, value in item.items()}
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        # The words of these errors quote the line, which may be long, or secret.
        words = f"{place}: this is no item of an export of DynamoDB."
        raise CommandFailed(words, code=ExitCode.USAGE) from None


def plain_value(value: Mapping[str, Any]) -> Any:
    """Return a value of DynamoDB's JSON, such as `{"S": "text"}`, as a plain one."""
    ((type, content),) = value.items()
    match type:
        case "M":
            return {name: plain_value(one) for name, one in content.items()}
        case "L":
            return [plain_value(one) for one in content]
        case "N":
            return Decimal(content)
        case "NULL":
            return None
    return content
