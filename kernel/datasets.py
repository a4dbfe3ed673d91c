"""The data of a plan: what each name in its formulas was found to mean, and nothing else."""

from collections.abc import Iterable, Mapping

from penstock.formula.datasets import NamedRows, Pin, Rows, unknown_dataset
from penstock.kernel.plan import Dataset


class PinnedDatasets(NamedRows):
    """Answers formulas from the rows of the datasets they name, which are given by identity.

    A name that a row makes up is known where a formula of the same resource has it written out.
    """

    def __init__(self, datasets: Iterable[Dataset], data: Mapping[str, Rows]) -> None:
        self._rows = {(one.within, one.name, one.pin): data[one.identity] for one in datasets}

    def named(self, name: str, pin: Pin, within: str | None) -> Rows:
        rows = self._rows.get((within, name, pin))
        if rows is None:
            raise unknown_dataset(name)
        return rows
