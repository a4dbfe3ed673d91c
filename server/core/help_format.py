"""The form of help: lines as wide as the terminal, however wide they are in the source."""

import re
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from cyclopts.help import HelpPanel
    from rich.console import Console, ConsoleOptions


class HelpFormat:
    """Shows help as Cyclopts does, but its paragraphs without the line breaks of the source."""

    def __call__(self, console: "Console", options: "ConsoleOptions", panel: "HelpPanel") -> None:
        # Most commands show no help, and loading this takes longer than they do.
        from cyclopts.help import DefaultFormatter  # noqa: PLC0415

        for entry in panel.entries:
            _join_lines(entry.description)
        DefaultFormatter()(console, options, panel)

    def render_usage(self, console: "Console", options: "ConsoleOptions", usage: Any) -> None:
        from cyclopts.help import DefaultFormatter  # noqa: PLC0415 - as above

        DefaultFormatter().render_usage(console, options, usage)

    def render_description(
        self, console: "Console", _options: "ConsoleOptions", description: Any
    ) -> None:
        if description:
            _join_lines(description)
            console.print(description)


def _join_lines(shown: Any) -> None:
    """Join the lines of each paragraph of a text of Cyclopts."""
    from cyclopts.help import InlineText  # noqa: PLC0415 - as above
    from rich.text import Text  # noqa: PLC0415 - as above

    if isinstance(shown, InlineText) and isinstance(shown.primary_renderable, Text):
        joined = re.sub(r"(?<!\n)\n(?!\n|$)", " ", shown.primary_renderable.plain)
        shown.primary_renderable = Text(joined, end=shown.primary_renderable.end)
