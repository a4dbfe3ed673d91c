"""The prefix of the variables that are settings, and the failure of settings that do not do.

Reading settings loads much; a command that needs none has these without it.
"""

PREFIX = "PENSTOCK_"


class InvalidSettings(Exception):
    """The settings are invalid; `problems` holds one sentence for each problem."""

    def __init__(self, problems: tuple[str, ...]) -> None:
        super().__init__("; ".join(problems))
        self.problems = problems
