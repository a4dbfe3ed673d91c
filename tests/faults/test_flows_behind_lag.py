"""Flows of other tests, over a store whose eventually consistent reads never show a write.

Each request sends the consistency token of the answer before it. The tests are those of the
modules below, with the fixtures of this one.
"""

from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest

from penstock.datastore.store import Store
from tests.datastore.ngsi.sample_destinations import open_embedded
from tests.schema.audio.test_playlists import (
    test_a_deleted_track_leaves_its_entry_and_is_missing,
    test_a_playlist_is_built_read_and_reordered,
    test_cursors_of_entries_spare_a_long_playlist_its_reading,
    test_what_is_exported_is_imported_unchanged,
)
from tests.schema.executions.test_executions import (
    test_a_worker_elsewhere_runs_an_execution,
    test_an_execution_goes_from_its_form_to_its_output,
    test_datasets_are_shown_and_given_to_workers_elsewhere,
    test_rows_of_a_request_are_answered_in_it,
)
from tests.schema.groups.test_api_keys import (
    test_a_key_is_shown_with_its_secret_once_and_listed_without,
)
from tests.schema.manifest.test_runs import (
    test_a_manifest_is_deleted_when_it_is_empty,
    test_a_run_goes_all_the_way_and_shows_what_was_said,
    test_later_fields_of_a_document_see_what_earlier_ones_did,
)
from tests.schema.pipelines.test_pipelines import (
    test_an_update_makes_a_version_and_leaves_the_earlier_ones_alone,
    test_every_field_of_the_document_comes_back_as_it_went_in,
    test_null_clears_and_what_is_left_out_stays,
)
from tests.schema.resources.test_name_filter import (
    test_searches_follow_updates_grants_revokes_and_deletes,
)
from tests.schema.resources.test_tags import (
    test_a_value_is_no_prefix_of_another,
    test_counts_follow_updates_grants_revokes_and_deletes,
    test_every_filter_finds_what_set_algebra_finds,
)
from tests.schema.test_connections import (
    test_what_comes_and_goes_between_pages_neither_hides_nor_repeats_the_rest,
)
from tests.support.graphql_client import Ask
from tests.support.stores import open_table
from tests.support.table_interceptors import LaggingTable

__all__ = [
    "test_a_deleted_track_leaves_its_entry_and_is_missing",
    "test_a_key_is_shown_with_its_secret_once_and_listed_without",
    "test_a_manifest_is_deleted_when_it_is_empty",
    "test_a_playlist_is_built_read_and_reordered",
    "test_a_run_goes_all_the_way_and_shows_what_was_said",
    "test_a_value_is_no_prefix_of_another",
    "test_a_worker_elsewhere_runs_an_execution",
    "test_an_execution_goes_from_its_form_to_its_output",
    "test_an_update_makes_a_version_and_leaves_the_earlier_ones_alone",
    "test_counts_follow_updates_grants_revokes_and_deletes",
    "test_cursors_of_entries_spare_a_long_playlist_its_reading",
    "test_datasets_are_shown_and_given_to_workers_elsewhere",
    "test_every_field_of_the_document_comes_back_as_it_went_in",
    "test_every_filter_finds_what_set_algebra_finds",
    "test_later_fields_of_a_document_see_what_earlier_ones_did",
    "test_null_clears_and_what_is_left_out_stays",
    "test_rows_of_a_request_are_answered_in_it",
    "test_searches_follow_updates_grants_revokes_and_deletes",
    "test_what_comes_and_goes_between_pages_neither_hides_nor_repeats_the_rest",
    "test_what_is_exported_is_imported_unchanged",
]


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[Store]:
    async with open_embedded(tmp_path) as store, open_table("sqlite", tmp_path) as replica:
        yield replace(store, table=LaggingTable(store.table, replica))


@pytest.fixture
def ask(store: Store) -> Ask:
    return Ask(store, tokens=[])
