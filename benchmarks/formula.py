"""How many rows a second one core evaluates: compiled once, and read anew for each row.

Run as `python -m benchmarks.formula [rows]`. Three rounds, the variants taking turns in each.
"""

import gc
import sys
from collections.abc import Callable, Sequence
from decimal import Decimal
from statistics import median
from time import perf_counter

from formula.check import Surroundings
from formula.datasets import LATEST, InMemory
from formula.evaluate import Compiled, Row, compile_formula
from formula.link import link
from formula.parse import parse_anew
from formula.values import Parameter, ValueType

ROUNDS = 3
NUMBER, STRING = ValueType.NUMBER, ValueType.STRING
TRIVIAL = ":a*:b"
TRIVIAL_AROUND = Surroundings((Parameter("a", NUMBER), Parameter("b", NUMBER)), NUMBER)
VEHICLE = (
    "IF(COALESCE(:passengers,0)>0,"
    "IMPACT('passenger_vehicles',:vehicleType,:pollutant)*:distance*:passengers,"
    "IMPACT('vehicles',:vehicleType,:pollutant)*:distance)"
)
VEHICLE_AROUND = Surroundings(
    (
        Parameter("vehicleType", STRING),
        Parameter("pollutant", STRING),
        Parameter("distance", NUMBER),
        Parameter("passengers", NUMBER, required=False),
    ),
    NUMBER,
)
FACTORS = {(kind, "co2"): Decimal("0.175") for kind in ("car", "van", "bus")}
DATA = InMemory(impacts={("passenger_vehicles", LATEST): FACTORS, ("vehicles", LATEST): FACTORS})


def trivial_rows(count: int) -> list[Row]:
    return [{"a": Decimal(n) / 8, "b": Decimal("1.5")} for n in range(count)]


def vehicle_rows(count: int) -> list[Row]:
    kinds = ("car", "van", "bus")
    return [
        {
            "vehicleType": kinds[n % 3],
            "pollutant": "co2",
            "distance": Decimal(n) / 8,
            "passengers": Decimal(n % 4) if n % 2 else None,
        }
        for n in range(count)
    ]


def compiled_once(text: str, around: Surroundings, rows: Sequence[Row]) -> None:
    results = compile_formula(text, around).run_all(rows, DATA)
    assert not results.errors


def read_anew(text: str, around: Surroundings, rows: Sequence[Row]) -> None:
    for row in rows:
        Compiled(link(parse_anew(text), around)).run(row, DATA)


def rate(work: Callable[[], None], rows: int) -> float:
    gc.collect()
    started = perf_counter()
    work()
    return rows / (perf_counter() - started)


def variants(count: int) -> dict[str, tuple[Callable[[], None], int]]:
    few = max(1, count // 500)
    trivial, vehicle = trivial_rows(count), vehicle_rows(count)
    return {
        "trivial, compiled once": (lambda: compiled_once(TRIVIAL, TRIVIAL_AROUND, trivial), count),
        "trivial, read anew": (lambda: read_anew(TRIVIAL, TRIVIAL_AROUND, trivial[:few]), few),
        "vehicle, compiled once": (lambda: compiled_once(VEHICLE, VEHICLE_AROUND, vehicle), count),
        "vehicle, read anew": (lambda: read_anew(VEHICLE, VEHICLE_AROUND, vehicle[:few]), few),
    }


def main() -> None:
    measured: dict[str, list[float]] = {}
    chosen = variants(int(sys.argv[1]) if len(sys.argv) > 1 else 100_000)
    for _ in range(ROUNDS):
        for name, (work, count) in chosen.items():
            measured.setdefault(name, []).append(rate(work, count))
    print(f"{'rows/s on one core':<26}{'min':>12}{'median':>12}{'max':>12}")
    for name, rates in measured.items():
        numbers = (min(rates), median(rates), max(rates))
        print(f"{name:<26}{''.join(f'{number:>12,.0f}' for number in numbers)}")


if __name__ == "__main__":
    main()
