"""`penstock sample-rows`: an input file for the sample pipelines."""

import csv
from typing import Annotated

from cyclopts import Parameter
from cyclopts.validators import Number

from penstock.server.core.command_output import StreamedOutput
from penstock.server.samples.catalogue import sample_rows as lines

_ROWS_HELP = "Number of rows. Every thousandth row has a text in place of a number."


def sample_rows(
    *,
    rows: Annotated[int, Parameter(help=_ROWS_HELP, validator=Number(gte=0, lte=1_000_000_000))] = (
        100_000
    ),
) -> StreamedOutput:
    """Print a CSV file that the sample pipelines accept, such as `oracle:aluminium:00001`."""
    return StreamedOutput(lines(rows), "rows", csv.DictReader(lines(rows)))
