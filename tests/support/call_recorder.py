"""A recorder of the store's calls."""

from penstock.datastore.table.instrumentation import Call, Ended


class Watcher:
    """Records the calls, and separately those that have ended."""

    def __init__(self) -> None:
        self.begun: list[Call] = []
        self.ended: list[Call] = []

    def __call__(self, call: Call) -> Ended:
        self.begun.append(call)
        return lambda: self.ended.append(call)
