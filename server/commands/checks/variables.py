"""Checks the environment for variables that only look like settings."""

import os

from penstock.resolvers.findings import Findings, ok, warn
from penstock.server.settings.unknown_variables import describe_unknown_variables


async def check_variables(_: object) -> Findings:
    """Name the variables that no setting reads."""
    unknown = describe_unknown_variables(os.environ)
    for sentence in unknown:
        yield warn("variables", sentence, "It has no effect.")
    if not unknown:
        yield ok("variables", "Each variable PENSTOCK_... is a setting.")
