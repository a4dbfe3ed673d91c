"""Measures the ten operations that the console sends most, over stores of several sizes.

The embedded store and an emulator of DynamoDB are filled with the sample catalogue and with
executions. Units and calls are counted in this process. Then a server of one process answers 32
callers, each operation for itself. The processor time is the server's for one answer; over
DynamoDB the emulator runs on the other core, beside the load generator.
"""

import argparse
from collections.abc import Iterator, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from benchmarks.page_tables import add_write_option, below_machine, write_tables
from benchmarks.product.measure import Load, ProductCost, measure_product
from benchmarks.product.stores import DYNAMODB, EMBEDDED, fill_store
from tests.support.stores import aws_environment

SIZES: Final = (1_000, 10_000)
DYNAMODB_SIZE: Final = 1_000
MARK: Final = "product"


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="benchmarks.product", description=__doc__)
    parser.add_argument("--sizes", type=int, nargs="+", default=SIZES, help="pipelines, embedded")
    parser.add_argument(
        "--dynamodb-size", type=int, default=DYNAMODB_SIZE, help="pipelines; 0 for none"
    )
    parser.add_argument("--seconds", type=float, default=2.0, help="for each operation")
    add_write_option(parser)
    options = parser.parse_args(arguments)
    places = [(EMBEDDED, size) for size in options.sizes]
    if options.dynamodb_size:
        places.append((DYNAMODB, options.dynamodb_size))
    tables = []
    for name, size in places:
        with TemporaryDirectory() as folder, aws_environment():
            filled = fill_store(name, size, Path(folder))
            cost = measure_product(filled, Load(options.seconds), Path(folder))
        tables.append("\n".join(table_lines(name, size, cost)))
        print(tables[-1], "\n", sep="", flush=True)
    if options.write is not None:
        write_tables(options.write, {MARK: below_machine("\n\n".join(tables))})


def table_lines(name: str, size: int, cost: ProductCost) -> Iterator[str]:
    yield f"{size:,} pipelines, {name}, {cost.memory / 2**20:,.0f} MB of memory:"
    yield ""
    yield "| operation | ms of processor | p50, ms | p99, ms | read units | write units | calls |"
    yield "|---|--:|--:|--:|--:|--:|--:|"
    for one in cost.operations:
        times = " | ".join(f"{each * 1000:.1f}" for each in (one.processor, one.p50, one.p99))
        units = f"{one.read_units:.1f} | {one.write_units:.1f} | {one.calls:.1f}"
        yield f"| {one.title} | {times} | {units} |"


if __name__ == "__main__":
    main()
