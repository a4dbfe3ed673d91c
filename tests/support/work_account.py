"""The account of a caller in tests, which counts the units of work."""

from penstock.datastore.errors import RateLimited


class Account:
    """Counts what is taken, up to `most`; more is refused."""

    paid = 0

    def __init__(self, most: int = 10**9) -> None:
        self.taken = 0
        self.owed = 0
        self.most = most

    def spend_more(self, units: int) -> None:
        if self.taken + units > self.most:
            raise RateLimited(7)
        self.taken += units

    def owe(self, units: int) -> None:
        self.owed += units
