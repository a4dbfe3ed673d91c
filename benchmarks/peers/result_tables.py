"""Tables of the samples, in Markdown."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from statistics import median
from typing import NamedTuple

from benchmarks.peers.rounds import Sample

_MICRO = 1e6


class Spread(NamedTuple):
    """The minimum, the median and the maximum of several rounds."""

    least: float
    middle: float
    most: float

    @classmethod
    def of(cls, values: Iterable[float]) -> "Spread":
        found = sorted(values)
        return cls(found[0], median(found), found[-1])

    def __str__(self) -> str:
        least, middle, most = map(format_number, (self.least, self.middle, self.most))
        return f"{least} / **{middle}** / {most}"


def format_number(number: float) -> str:
    """Three significant digits, without a fraction from 100 upwards."""
    if number >= 100:
        return f"{number:,.0f}"
    return f"{number:.1f}" if number >= 10 else f"{number:.2f}"


def ratios(samples: Sequence[Sample], peer: str, shape: str, baseline: str) -> Spread | None:
    """The speed relative to the baseline, by CPU time, in each round; None if one is missing."""
    own = {sample.round: sample.cpu for sample in samples_of(samples, peer, shape)}
    other = {sample.round: sample.cpu for sample in samples_of(samples, baseline, shape)}
    both = own.keys() & other.keys()
    return Spread.of(other[number] / own[number] for number in both) if both else None


def samples_of(samples: Iterable[Sample], peer: str, shape: str) -> Iterator[Sample]:
    return (sample for sample in samples if (sample.peer, sample.shape) == (peer, shape))


def median_value(samples: Sequence[Sample], peer: str, shape: str, name: str) -> float:
    found: Iterator[float] = (getattr(sample, name) for sample in samples_of(samples, peer, shape))
    return median(found)


def cpu_table(
    samples: Sequence[Sample], titles: Mapping[str, str], shapes: Mapping[str, str], baseline: str
) -> str:
    """Microseconds for a request, and the speed relative to the baseline."""

    def cell(peer: str, shape: str) -> str:
        spent = format_number(median_value(samples, peer, shape, "cpu") * _MICRO)
        compared = ratios(samples, peer, shape, baseline)
        return spent if compared is None or peer == baseline else f"{spent} · {compared}"

    return _table(["CPU µs · ratio", *shapes.values()], titles, shapes, cell)


def pace_table(
    samples: Sequence[Sample], titles: Mapping[str, str], shapes: Mapping[str, str]
) -> str:
    """Requests a second on the server's core, latencies in milliseconds, and memory."""

    def cell(peer: str, shape: str) -> str:
        rate, p50, p99 = (
            median_value(samples, peer, shape, name) for name in ("rate", "p50", "p99")
        )
        return f"{rate:,.0f} · {format_number(p50 * 1_000)} · {format_number(p99 * 1_000)}"

    def memory(peer: str) -> str:
        return f"{max(s.memory for s in samples if s.peer == peer) / 2**20:,.0f}"

    head = ["requests/s · p50 · p99 ms", *shapes.values(), "MiB"]
    return _table(head, titles, shapes, cell, memory)


def _table(
    head: Sequence[str],
    titles: Mapping[str, str],
    shapes: Mapping[str, str],
    cell: Callable[[str, str], str],
    last: Callable[[str], str] | None = None,
) -> str:
    lines = [f"| {' | '.join(head)} |", f"|---|{'--:|' * (len(head) - 1)}"]
    for peer, title in titles.items():
        cells = [title, *(cell(peer, shape) for shape in shapes)]
        cells += [last(peer)] if last else []
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)
