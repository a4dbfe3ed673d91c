"""A stream that counts what is written, and says whether it is a terminal."""

import io


class Written(io.StringIO):
    """What was written; `writes` says in how many calls."""

    def __init__(self, terminal: bool = False) -> None:
        super().__init__()
        self.terminal = terminal
        self.writes = 0

    def isatty(self) -> bool:
        return self.terminal

    def write(self, text: str) -> int:
        self.writes += 1
        return super().write(text)
