"""Who is shown the calls of a store in tests."""

from penstock.datastore.table.instrumentation import Call, Ended


class Watcher:
    """Keeps the calls, those that ended apart."""

    def __init__(self) -> None:
        self.begun: list[Call] = []
        self.ended: list[Call] = []

    def __call__(self, call: Call) -> Ended:
        self.begun.append(call)
        return lambda: self.ended.append(call)
