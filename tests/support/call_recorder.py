"""A recorder of the store's calls."""

from penstock.datastore.table.instrumentation import EndCallback, StoreCall


class Watcher:
    """Records the calls, and separately those that have ended."""

    def __init__(self) -> None:
        self.begun: list[StoreCall] = []
        self.ended: list[StoreCall] = []

    def __call__(self, call: StoreCall) -> EndCallback:
        self.begun.append(call)
        return lambda: self.ended.append(call)
