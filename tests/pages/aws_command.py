"""`aws` for the shells of pages: a fork of the warm process, which has loaded the client of AWS."""

import sys
from collections.abc import Sequence
from typing import NoReturn

from tests.pages.until_ready import run_in_fork


def main(arguments: Sequence[str]) -> NoReturn:
    sys.exit(run_in_fork("tests.pages.aws_call", arguments))
