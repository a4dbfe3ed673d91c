"""`penstock sample-rows`: an input file for the sample pipelines."""

import sys
from typing import Annotated

from cyclopts import Parameter
from cyclopts.validators import Number

from penstock.server.samples.catalogue import sample_rows as lines

_ROWS_HELP = "Number of rows. Every thousandth row has a text in place of a number."


def sample_rows(
    *,
    rows: Annotated[int, Parameter(help=_ROWS_HELP, validator=Number(gte=0, lte=1_000_000_000))] = (
        100_000
    ),
) -> None:
    """Print a CSV file that the sample pipelines accept, such as `oracle:aluminium:00001`."""
    sys.stdout.writelines(f"{line}\n" for line in lines(rows))
