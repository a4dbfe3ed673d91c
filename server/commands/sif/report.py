"""The report of an import: what was made, what was there before, and what is left out and why."""

from collections import Counter
from dataclasses import dataclass, field
from typing import NamedTuple

from penstock.server.core.command_output import put_in_line

KINDS = ("group", "dataset", "calculation", "pipeline", "row", "metric")


class LeftOut(NamedTuple):
    """Something that was not taken, or not as it was, and the reason."""

    kind: str
    name: str
    reason: str


@dataclass(slots=True)
class SifReport:
    """The counts by kind, and what is left out."""

    made: Counter[str] = field(default_factory=Counter)
    there: Counter[str] = field(default_factory=Counter)
    left: list[LeftOut] = field(default_factory=list)

    def leave(self, kind: str, name: str, reason: str) -> None:
        self.left.append(LeftOut(kind, name, reason))

    def take_back(self, since: int) -> list[LeftOut]:
        """Return what was left out behind the first `since`, and forget it."""
        found = self.left[since:]
        del self.left[since:]
        return found

    def text(self, *, is_dry: bool) -> str:
        """The report for people."""
        verb = "would be made" if is_dry else "made"
        lines = [
            f"{kind + 's':14}{self.made[kind]:8} {verb}, {self.there[kind]} there already"
            for kind in KINDS
        ]
        if self.left:
            lines += ["", "Left out, or taken in another form:"]
        lines += [put_in_line(f"  {one.kind} {one.name}: {one.reason}") for one in self.left]
        return "\n".join(lines)

    def data(self) -> dict[str, object]:
        """The report for programs."""
        return {
            "made": {kind: self.made[kind] for kind in KINDS},
            "there": {kind: self.there[kind] for kind in KINDS},
            "left": [one._asdict() for one in self.left],
        }
