"""Hooks of a build: no wheel or sdist lacks a page, and the package page has links."""

import os
import re
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface
from hatchling.metadata.plugin.interface import MetadataHookInterface

PAGES = tuple(
    Path("penstock", "server", name, "dist", "index.html") for name in ("graphiql", "console")
)
ADDRESS = "PENSTOCK_REPOSITORY"
LINK = re.compile(r"(!?)\[([^\]]*)\]\((?!https?:|#)([^)]+)\)")


class PagesHook(BuildHookInterface):
    """Stops a build that lacks a page; an editable install may lack them."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        missing = [page for page in PAGES if not (Path(self.root) / page).is_file()]
        if version != "editable" and missing:
            self.app.abort("The pages are not built: run `make pages`, then build again.")


class PackagePageHook(MetadataHookInterface):
    """Shows the README, and with the address of the repository also where everything is.

    A package page has no other files, so links of the README lead to the repository.
    """

    def update(self, metadata: dict[str, Any]) -> None:
        text = (Path(self.root) / "README.md").read_text(encoding="utf-8")
        address = os.environ.get(ADDRESS, "").rstrip("/")
        if address:
            metadata["urls"] = {
                "Repository": address,
                "Documentation": f"{address}/blob/HEAD/docs/README.md",
                "Changelog": f"{address}/blob/HEAD/CHANGELOG.md",
                "Issues": f"{address}/issues",
            }
            text = make_links_absolute(text, address)
        metadata["readme"] = {"content-type": "text/markdown", "text": text}


def make_links_absolute(text: str, address: str) -> str:
    """Return the Markdown with its relative links and pictures at the address."""

    def lead(found: re.Match[str]) -> str:
        picture, label, path = found.groups()
        return f"{picture}[{label}]({address}/{'raw' if picture else 'blob'}/HEAD/{path})"

    return LINK.sub(lead, text)
