"""The data of a plan: what each name in its formulas was found to mean, and nothing else."""

from collections.abc import Iterable, Mapping
from decimal import Decimal

from formula.datasets import Pin, Rows, unknown_dataset
from formula.values import Scalar
from kernel.plan import Dataset


class PinnedDatasets:
    """Answers formulas from the rows of the datasets they name, which are given by identity.

    A name that a row makes up is known where a formula of the same resource has it written out.
    """

    def __init__(self, datasets: Iterable[Dataset], data: Mapping[str, Rows]) -> None:
        self._rows = {(one.within, one.name, one.pin): data[one.identity] for one in datasets}

    def lookup(
        self,
        dataset: str,
        key: str,
        columns: tuple[str, str] | None,
        pin: Pin,
        within: str | None = None,
    ) -> Scalar:
        return self._named(dataset, pin, within).find(key, columns)

    def impact(
        self, activity: str, impact: str, component: str, pin: Pin, within: str | None = None
    ) -> Decimal | None:
        return self._named(activity, pin, within).factor(impact, component)

    def _named(self, name: str, pin: Pin, within: str | None) -> Rows:
        rows = self._rows.get((within, name, pin))
        if rows is None:
            raise unknown_dataset(name)
        return rows
