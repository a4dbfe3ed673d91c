"""The benchmarks of all tables of measured times, with the pages and marks that they write."""

import shlex
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Final, NamedTuple, TypeAlias

ROOT: Final = Path(__file__).parents[2]
PERFORMANCE: Final = "docs/performance.md"
README: Final = "benchmarks/README.md"

Command: TypeAlias = Callable[[Sequence[str]], list[str]]
"""Gives the command line of a benchmark with some arguments."""


def python(module: str) -> Command:
    return lambda arguments: [sys.executable, "-m", module, *arguments]


def make(target: str) -> Command:
    """A target of the Makefile, which takes arguments in a variable of its own name."""
    return lambda arguments: ["make", "-s", target, f"{target.upper()}={' '.join(arguments)}"]


class WholeBenchmark(NamedTuple):
    """A benchmark at its whole size: its command, and the marks of its tables in a page.

    `minutes` is about what it takes on one core. `brief` are arguments with which it takes seconds
    and measures nothing. Without the variable that it `needs`, it is left out.
    """

    command: Command
    page: str
    marks: tuple[str, ...]
    minutes: float
    whole: str = ""
    brief: str = ""
    needs: str | None = None

    def line(self, *, is_brief: bool, writes: bool) -> list[str]:
        """The command line that runs it."""
        arguments = shlex.split(self.brief if is_brief else self.whole)
        return self.command(arguments + (["--write", self.page] if writes else []))


_PEERS_BRIEFLY: Final = "--rounds 1 --seconds 0.4 --warm-up 0.1"

BENCHMARKS: Final[Mapping[str, WholeBenchmark]] = {
    "peers_memory": WholeBenchmark(
        make("peers"),
        PERFORMANCE,
        ("peers memory",),
        10,
        whole="--modes memory --rounds 7 --seconds 0.6 --warm-up 0.6",
        brief=f"--modes memory {_PEERS_BRIEFLY}",
    ),
    "peers_store": WholeBenchmark(
        make("peers"),
        PERFORMANCE,
        ("peers store",),
        5,
        whole="--modes store --rounds 3 --seconds 0.6 --warm-up 0.6",
        brief=f"--modes store {_PEERS_BRIEFLY}",
    ),
    "alike": WholeBenchmark(
        make("peers"),
        PERFORMANCE,
        ("alike memory", "alike store"),
        10,
        whole="--alike --rounds 3 --seconds 0.6 --warm-up 0.6",
        brief=f"--alike {_PEERS_BRIEFLY}",
    ),
    "request_stages": WholeBenchmark(
        python("benchmarks.request_stages"),
        PERFORMANCE,
        ("request stages",),
        1,
        brief="--turns 1",
    ),
    "request_profile": WholeBenchmark(
        python("benchmarks.request_profile"),
        PERFORMANCE,
        ("request profile",),
        0.6,
        brief="--seconds 0.1",
    ),
    "record_decoding": WholeBenchmark(
        python("benchmarks.record_decoding"),
        PERFORMANCE,
        ("record decoding",),
        0.1,
        brief="--rounds 1",
    ),
    "short_form": WholeBenchmark(
        python("benchmarks.short_form"),
        "docs/benchmarks.md",
        ("bench",),
        7,
        brief="--only connection",
    ),
    "product": WholeBenchmark(
        python("benchmarks.product"),
        "docs/benchmarks.md",
        ("product",),
        14,
        whole="--sizes 1000 10000 100000",
        brief="--sizes 12 --dynamodb-size 12 --seconds 0.1",
    ),
    "tag_search": WholeBenchmark(
        python("benchmarks.tag_search"),
        "docs/tag-search.md",
        ("two tags", "summary", "all"),
        minutes=1.5,
        whole="--check",
    ),
    "tag_search_floor": WholeBenchmark(
        python("benchmarks.tag_search_floor"),
        "docs/tag-search.md",
        ("tag search floor",),
        1,
        brief="--count 1000",
    ),
    "name_search": WholeBenchmark(
        python("benchmarks.name_search"),
        README,
        ("name search",),
        0.7,
        brief="--count 100 --rounds 1",
    ),
    "audio": WholeBenchmark(
        python("benchmarks.audio"),
        "docs/audio.md",
        ("costs",),
        0.5,
        whole="--check",
        brief="--tracks 40",
    ),
    "audio_browsing": WholeBenchmark(
        python("benchmarks.audio_browsing"),
        "docs/audio.md",
        ("browsing costs",),
        0.5,
        brief="--tracks 40",
    ),
    "formula": WholeBenchmark(
        python("benchmarks.formula"),
        README,
        ("formula",),
        0.6,
        brief="--rows 1000",
    ),
    "executions": WholeBenchmark(
        python("benchmarks.executions"),
        "docs/executions.md",
        ("execution rates", "execution stages", "execution runs"),
        3,
        whole="--check",
        brief="--rows 3000 --rounds 1 --large 3000",
    ),
    "large_file": WholeBenchmark(
        python("benchmarks.large_file"),
        "docs/executions.md",
        ("large file",),
        3,
        whole="--check",
        brief="--gigabytes 0.02",
    ),
    "kept_rows_on_dask": WholeBenchmark(
        python("benchmarks.kept_rows_on_dask"),
        "docs/executions.md",
        ("kept rows on dask",),
        1.5,
        brief="--rows 2000 --machines 2",
    ),
    "kept_rows": WholeBenchmark(
        python("benchmarks.kept_rows"),
        "docs/kept-rows.md",
        ("kept rows",),
        1,
        brief="--rows 2000",
    ),
    "more_kept_rows": WholeBenchmark(
        python("benchmarks.kept_rows"),
        "docs/kept-rows.md",
        ("more kept rows",),
        5,
        whole="--rows 10000000 --mark 'more kept rows'",
        brief="--rows 3000 --mark 'more kept rows'",
    ),
    "kept_rows_in_postgres": WholeBenchmark(
        python("benchmarks.rows_elsewhere.postgres"),
        "docs/kept-rows.md",
        ("kept rows in postgres",),
        1,
        brief="--rows 2000",
        needs="POSTGRES_URL",
    ),
    "corrected_rows": WholeBenchmark(
        python("benchmarks.corrections.kept_rows"),
        "docs/kept-rows.md",
        ("corrected rows",),
        1.5,
        brief="--rows 3000",
    ),
    "large_dataset": WholeBenchmark(
        python("benchmarks.large_dataset"),
        "docs/datasets.md",
        ("large dataset",),
        0.8,
        brief="--rows 120000",
    ),
    "sensor_month": WholeBenchmark(
        python("benchmarks.sensor_month"),
        "docs/ngsi.md",
        ("sensor month",),
        8,
        brief="--days 1",
    ),
    "ngsi_sink": WholeBenchmark(
        python("benchmarks.ngsi"),
        README,
        ("ngsi sink",),
        2,
        whole="--check",
        brief="--count 100",
    ),
    "several_processes": WholeBenchmark(
        python("benchmarks.several_processes"),
        "docs/operations.md",
        ("several processes",),
        0.8,
        brief="--rounds 1 --seconds 0.2",
    ),
    "writes_that_meet": WholeBenchmark(
        make("scale"),
        "docs/aws.md",
        ("writes that meet", "hot items"),
        3,
        brief="--writes 20 --load library",
    ),
    "moving": WholeBenchmark(
        python("benchmarks.moving"),
        "docs/moving.md",
        ("moving",),
        4,
        whole="--size 20000",
        brief="--size 20",
    ),
    "moving_there_and_back": WholeBenchmark(
        python("benchmarks.moving_there_and_back"),
        "docs/moving.md",
        ("moving there and back",),
        3,
        whole="--size 5000",
        brief="--size 20",
    ),
    "console": WholeBenchmark(
        python("benchmarks.console"),
        "docs/console.md",
        ("console",),
        1,
        brief="--rounds 1",
    ),
    "front_page": WholeBenchmark(
        python("benchmarks.front_page"),
        README,
        ("front page",),
        0.7,
        brief="--executions 100",
    ),
    "event_loop": WholeBenchmark(
        python("benchmarks.event_loop"),
        README,
        ("event loop",),
        0.8,
        brief="--seconds 0.1",
    ),
    "dynamodb_client": WholeBenchmark(
        python("benchmarks.dynamodb_client"),
        README,
        ("dynamodb client",),
        0.6,
        brief="--rounds 1 --seconds 0.01",
    ),
    "guarded_connection": WholeBenchmark(
        python("benchmarks.guarded_connection"),
        README,
        ("guarded connection",),
        0.3,
        brief="--requests 10 --rounds 1",
    ),
    "work_units": WholeBenchmark(
        python("benchmarks.work_units"),
        README,
        ("work units",),
        0.5,
    ),
}
"""By their names, in the order in which they run."""
