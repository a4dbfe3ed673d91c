"""A build hook: it refuses a wheel or an sdist without the GraphiQL page."""

from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

PAGE = Path("penstock", "server", "graphiql", "dist", "index.html")


class GraphiqlPageHook(BuildHookInterface):
    """Stops a build whose GraphiQL page is missing; an editable install may lack it."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        if version != "editable" and not (Path(self.root) / PAGE).is_file():
            self.app.abort("The GraphiQL page is not built: run `make graphiql`, then build again.")
