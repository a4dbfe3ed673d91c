"""Rows that tell of samples, which are copied at another moment: they do not go with the others.

Without them, latest samples are queried, and hours are read again.
"""

from typing import Final

from penstock.datastore.table.keys import SEPARATOR
from penstock.datastore.table.layout import KEPT_HOURS, LATEST_SAMPLES

OF_SAMPLES: Final = tuple(row.pk.leader + SEPARATOR for row in (KEPT_HOURS, LATEST_SAMPLES))
"""The beginnings of their partitions."""
