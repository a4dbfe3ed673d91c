"""Modules in short form: units of work, notifications, sensors, and the audio library."""

import asyncio

from benchmarks.short_form.figures import Figure, list_figures


def measure_work_units() -> list[Figure]:
    from benchmarks.work_units import measure_all  # noqa: PLC0415 - each runs in a process of its own

    return list_figures("work of one unit", "µs", measure_all())


def measure_sink() -> list[Figure]:
    from benchmarks.ngsi import SIZES, measure_plan, plans  # noqa: PLC0415 - see above

    found = {}
    for plan in plans():
        if plan.batch == SIZES[-1]:
            results = [asyncio.run(measure_plan(plan, 300)) for _ in range(3)]
            least = min(one.processor / one.notifications for one in results)
            found[f"{plan.name}, {plan.persistence}, {plan.batch} at once"] = least * 1e6
    return list_figures("a notification", "µs", found)


def measure_sensor() -> list[Figure]:
    from benchmarks.sensor_month import AGGREGATIONS, measure  # noqa: PLC0415 - see above
    from penstock.datastore.ngsi.reading.periods import Period  # noqa: PLC0415 - see above

    hourly = [one for one in AGGREGATIONS if one.period is Period.HOUR]
    times = asyncio.run(measure(1, hourly, ()))
    found = {one.name: one.processor for one in times if not one.is_of_kept}
    found["a later one by hours"] = max(one.processor for one in times if one.is_of_kept)
    return list_figures("day of a sensor", "ms", {name: one * 1e3 for name, one in found.items()})


def measure_library() -> list[Figure]:
    from benchmarks.audio import measure_costs  # noqa: PLC0415 - see above

    rows = asyncio.run(measure_costs(1_000))
    found = {row.operation: row.measured for row in rows}
    least = {f"{row.operation}, calculated": row.calculated for row in rows if row.calculated}
    return list_figures("library", "units", found | least, exact=True)


def measure_browsing() -> list[Figure]:
    from benchmarks.audio_browsing import measure_costs  # noqa: PLC0415 - see above

    rows = asyncio.run(measure_costs(500))
    units = {row.access: row.units for row in rows}
    calls = {row.access: float(row.calls) for row in rows}
    return [
        *list_figures("browsing", "read units", units, exact=True),
        *list_figures("browsing", "calls", calls, exact=True),
    ]
