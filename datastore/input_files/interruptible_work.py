"""Work in a thread that ends soon after nobody wants its result any more."""


class WorkInterrupted(Exception):
    """The caller of the work has gone."""


class InterruptibleWork:
    """Says to the thread of some work whether its result is still wanted."""

    __slots__ = ("_is_wanted",)

    def __init__(self) -> None:
        self._is_wanted = True

    def interrupt(self) -> None:
        """Let the work end at its next step; from any thread."""
        self._is_wanted = False

    def require_wanted(self) -> None:
        """Raise WorkInterrupted in the work's thread, if it was interrupted."""
        if not self._is_wanted:
            raise WorkInterrupted
