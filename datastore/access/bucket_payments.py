"""The prices of the calls of the server's own bucket, and the payments of a caller."""

from typing import Final, Self

from penstock.datastore.access.work import StoreKind, WorkAccount
from penstock.datastore.objects.metered_files import FilePrices, MeteredFiles
from penstock.datastore.objects.port import Files
from penstock.datastore.table.instrumentation import Units

FILE_PRICES: Final = {
    StoreKind.EMBEDDED: FilePrices(look=2, change=10, write=20, sign=0, listed_keys=50),
    StoreKind.DYNAMODB: FilePrices(look=40, change=40, write=40, sign=4, listed_keys=2),
}
"""The prices of files in a directory, and of those in S3 beside a table of DynamoDB."""


class BucketPayments:
    """Takes what calls of the bucket cost; the cost of an operation covers none of them.

    Before the first change a caller in debt cannot begin a call. From then on, and after `lend`,
    the caller owes.
    """

    __slots__ = ("_lent", "_used", "_work", "prices")

    def __init__(
        self, work: WorkAccount, prices: FilePrices, used: Units, *, lent: bool = False
    ) -> None:
        self.prices = prices
        self._work = work
        self._used = used
        self._lent = lent

    def begin_call(self, units: int) -> None:
        """Pay for a call that reads or signs; raises RateLimited for a caller in debt."""
        if units:
            owes = self._lent or self._used.has_changed
            (self._work.owe if owes else self._work.spend_more)(units)

    def begin_change(self, units: int) -> None:
        """Pay for a call that changes files; raises RateLimited for a caller in debt."""
        self.begin_call(units)
        self._used.file_changes += 1

    def owe(self, units: int) -> None:
        """Owe what a call turned out to cost."""
        if units:
            self._work.owe(units)

    def lend(self) -> Self:
        """Return payments of the same caller that refuse nothing."""
        return type(self)(self._work, self.prices, self._used, lent=True)


def meter_files(store: Files, kind: StoreKind, work: WorkAccount, used: Units) -> Files:
    """Return the files of a caller, whose account pays."""
    return MeteredFiles(store, BucketPayments(work, FILE_PRICES[kind], used))
