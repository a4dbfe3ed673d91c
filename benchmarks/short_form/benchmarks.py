"""The benchmarks in their short form; each returns its figures."""

from collections.abc import Callable, Mapping, Sequence
from typing import Final, TypeAlias

from benchmarks.short_form import of_modules, of_requests, of_rows, of_stores
from benchmarks.short_form.figures import Figure

Measure: TypeAlias = Callable[[], Sequence[Figure]]

BENCHMARKS: Final[Mapping[str, Measure]] = {
    "connection": of_requests.measure_connection,
    "requests": of_requests.measure_requests,
    "product": of_requests.measure_product,
    "several_processes": of_requests.measure_several_processes,
    "front_page": of_requests.measure_front_page,
    "console": of_requests.measure_console,
    "work_units": of_modules.measure_work_units,
    "record_decoding": of_stores.measure_record_decoding,
    "names": of_stores.measure_name_search,
    "tags": of_stores.measure_tag_page,
    "tag_lists": of_stores.measure_tag_lists,
    "event_loop": of_stores.measure_event_loop,
    "dynamodb_client": of_stores.measure_dynamodb_client,
    "writes_that_meet": of_stores.measure_writes_that_meet,
    "moving": of_stores.measure_moving,
    "formula": of_rows.measure_formula,
    "transform": of_rows.measure_transform,
    "large_file": of_rows.measure_large_file,
    "kept_rows": of_rows.measure_kept_rows,
    "corrected_rows": of_rows.measure_corrected_rows,
    "kept_rows_on_dask": of_rows.measure_kept_rows_on_dask,
    "dataset": of_rows.measure_dataset,
    "sink": of_modules.measure_sink,
    "sensor": of_modules.measure_sensor,
    "library": of_modules.measure_library,
    "browsing": of_modules.measure_browsing,
}
