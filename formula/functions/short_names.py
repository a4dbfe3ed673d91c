"""Names of units, zones, locales and options: short, while a text of a row may have any length."""

from typing import Final

LONGEST_NAME: Final = 80


def cut_name(text: str) -> str:
    """Return a name as it is, and the beginning of a text that is too long to be one.

    The beginning is too long as well, so it is no name either, and is found to be none quickly.
    """
    return text[: LONGEST_NAME + 1]
