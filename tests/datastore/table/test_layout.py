"""The rows of the data model, spelled out."""

from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.datastore.records import (
    Parameter,
    Pipeline,
    PipelineVersion,
    State,
    Transformer,
    ValueType,
)
from penstock.datastore.table.items import latest_item, load, resource_id, version_item
from penstock.datastore.table.keys import KeyPart
from penstock.datastore.table.layout import (
    ALBUM,
    ANNOTATION,
    API_KEY,
    ARTIST,
    ATTRIBUTE,
    AUDIO,
    AUDIO_BY_ALBUM,
    AUDIO_BY_ARTIST,
    AUDIO_BY_BUCKET,
    AUDIO_BY_GENRE,
    CALCULATION,
    CHANGE,
    CONNECTION,
    DEAD_LETTER,
    DESTINATION,
    DESTINATION_NAME,
    ENTITY,
    EXECUTION,
    EXECUTION_COUNT,
    EXECUTION_DUE,
    EXECUTION_ENDED,
    EXECUTION_EVENT,
    EXECUTION_LISTED,
    EXECUTION_PLAN,
    EXECUTION_RESULT,
    FAVOURITE,
    GENRE,
    GRANT,
    GROUP,
    GROUP_COUNT,
    HISTORY,
    IDEMPOTENCY,
    IMPORT_FAILURE,
    INGEST_COUNT,
    JOB,
    JOB_AT_GROUP,
    JOB_OF_GROUP,
    JOB_OF_USER,
    LIBRARY,
    LISTED,
    MANIFEST,
    MANIFEST_COUNT,
    NAME,
    NAMING_RULES,
    NOTIFIED,
    OPEN_IMPORTS,
    OWNED,
    PIPELINE,
    PLAY,
    PLAY_QUEUE,
    PLAYLIST,
    PLAYLIST_ENTRY,
    PLAYLIST_MEMBER,
    REFERENCE_DATASET,
    ROWS_HEAD,
    ROWS_MERGED,
    ROWS_PART,
    RUN,
    RUN_EVENT,
    RUN_LISTED,
    SERVICE,
    SERVICE_PATH,
    SHARED_PIPELINE,
    STAGED,
    TAG,
    TAG_KEY_COUNT,
    TAG_VALUE_COUNT,
    TOMBSTONE,
    WORK_DEBT,
    WORKER,
    Row,
)
from tests.support.sample_resources import NORTHWEST, TRANSFORMER, USA, tags

ID = "018f3b6e-0000-7000-8000-000000000001"
OWN = {"user": "ann", "audio": ID}


@pytest.mark.parametrize(
    ("row", "values", "pk", "sk", "index"),
    [
        (PIPELINE.latest, {"id": ID}, f"P:{ID}", "PV:latest", None),
        (LISTED, {"kind": "P", "id": ID}, f"P:{ID}", "L", "P"),
        (PIPELINE.version, {"id": ID, "version": 12}, f"P:{ID}", "PV:0000000012", None),
        (GRANT, {"kind": "P", "id": ID, "group": USA}, f"P:{ID}", "G:/usa", "G:/usa"),
        (NAME, {"kind": "P", "name": "a:b", "group": USA}, "AID:P:a%3Ab", "G:/usa", None),
        (GROUP, {"parent": USA, "group": NORTHWEST}, "G:/usa", "G:/usa/northwest", None),
        (
            TAG,
            {"group": USA, "key": "m", "value": ("a", "b#c"), "kind": "P", "id": ID},
            "T:/usa:m",
            f"T:a#b%23c:P:{ID}",
            None,
        ),
        (
            TAG_VALUE_COUNT,
            {"group": USA, "key": "m", "kind": "P", "depth": 2, "value": ("a", "b"), "shard": 0},
            "TA:/usa:m",
            "TA:P:02:a#b",
            None,
        ),
        (
            TAG_VALUE_COUNT,
            {"group": USA, "key": "m", "kind": "P", "depth": 2, "value": ("a", "b"), "shard": 3},
            "TA:/usa:m",
            "TA:P:02:a#b\x0103",
            None,
        ),
        (
            TAG_KEY_COUNT,
            {"group": USA, "key": "m", "kind": "P", "shard": 0},
            "TA:/usa:m",
            "TA:P",
            "TA:/usa:P",
        ),
        (
            TAG_KEY_COUNT,
            {"group": USA, "key": "m", "kind": "P", "shard": 12},
            "TA:/usa:m\x0112",
            "TA:P",
            "TA:/usa:P",
        ),
        (GROUP_COUNT, {"group": USA, "shard": 3}, "GC:/usa", "GC:03", None),
        (IDEMPOTENCY, {"user": "ann:1", "key": "k"}, "IK:ann%3A1:k", "IK", None),
        (API_KEY, {"id": ID, "user": "ann:1"}, f"AK:{ID}", "AK", "AK:ann%3A1"),
        (OWNED, {"kind": "P", "id": ID, "group": USA}, f"P:{ID}", "O:/usa", "O:/usa"),
        (JOB, {"id": ID}, f"J:{ID}", "J", "J:pending"),
        (JOB_OF_GROUP, {"group": USA, "id": ID}, "JG:/usa", f"JL:{ID}", None),
        (JOB_AT_GROUP, {"group": USA, "id": ID}, "JA:/usa", f"JL:{ID}", None),
        (HISTORY, {"kind": "G", "of": USA, "entry": ID}, "AT:G:/usa", f"AT:{ID}", None),
        (WORKER, {"name": "a:b"}, "WK", "WK:a%3Ab", None),
        (WORK_DEBT, {"user": "ann:1"}, "WD", "WD:ann%3A1", None),
        (
            CHANGE,
            {"kind": "PE", "shard": 3, "changed": 1_700_000_000_000, "id": ID, "step": 12},
            "CL:PE:03",
            f"CL:1700000000000:{ID}:12",
            None,
        ),
        (JOB_OF_USER, {"user": "ann:1", "id": ID}, "JU:ann%3A1", f"JL:{ID}", None),
        (LIBRARY, {"user": "ann:1"}, "U:ann%3A1", "U", None),
        (OPEN_IMPORTS, {"user": "ann:1"}, "UI:ann%3A1", "UI", None),
        (AUDIO, {"user": "ann", "audio": ID}, "U:ann", f"AU:{ID}", None),
        (
            AUDIO_BY_ARTIST,
            {"artist": "r", "year": 1980, "album": "l", "disc": 1, "track": 7, **OWN},
            "U:ann",
            f"AUR:r:1980:l:001:0007:{ID}",
            None,
        ),
        (
            AUDIO_BY_ALBUM,
            {"title": "t", "album": "l", "disc": 1, "track": 7, **OWN},
            "U:ann",
            f"AUL:t:l:001:0007:{ID}",
            None,
        ),
        (AUDIO_BY_GENRE, {"genre": "g", **OWN}, "U:ann", f"AUG:g:{ID}", None),
        (AUDIO_BY_BUCKET, {"bucket": "b.c", "hash": "h", **OWN}, "U:ann", "AUB:b.c:h", None),
        (ARTIST, {"name": "ac/dc", "artist": "r", **OWN}, "U:ann", "AR:ac/dc:r", None),
        (ALBUM, {"name": "4:44", "album": "l", **OWN}, "U:ann", "AL:4%3A44:l", None),
        (GENRE, {"name": "rock", "genre": "g", **OWN}, "U:ann", "AG:rock:g", None),
        (CONNECTION, {"connection": "c", **OWN}, "U:ann", "CN:c", None),
        (EXECUTION, {"id": ID, "pipeline": "p"}, f"PE:{ID}", "PE:P", "P:p"),
        (EXECUTION_PLAN, {"id": ID}, f"PE:{ID}", "PEP", None),
        (EXECUTION_EVENT, {"id": ID, "seq": 12}, f"PE:{ID}", "PEH:0000000012", None),
        (EXECUTION_COUNT, {"id": ID}, f"P:{ID}", "PEC", None),
        (EXECUTION_RESULT, {"id": ID, "digest": "d"}, f"P:{ID}", "PER:d", None),
        (ROWS_HEAD, {"id": ID}, f"P:{ID}", "PKR", "PKR"),
        (ROWS_PART, {"id": ID, "commit": 12}, f"KR:{ID}", "KR:0000000012", None),
        (ROWS_MERGED, {"id": ID, "commit": 12}, f"KR:{ID}", "KR:M:0000000012", None),
        (
            EXECUTION_DUE,
            {"stage": "ready", "shard": 7, "due": 1660175720322, "id": ID},
            "PED:ready:07",
            f"PED:1660175720322:{ID}",
            None,
        ),
        (
            EXECUTION_LISTED,
            {"group": USA, "state": "waiting", "id": ID},
            "EL:/usa:waiting",
            f"EL:{ID}",
            None,
        ),
        (
            EXECUTION_ENDED,
            {"group": USA, "state": "failed", "ended": 1660175720322, "id": ID},
            "EE:/usa:failed",
            f"EE:1660175720322:{ID}",
            None,
        ),
        (
            SHARED_PIPELINE,
            {"group": USA, "owner": "/e:u", "id": ID},
            "PS:/usa",
            f"PS:/e%3Au:{ID}",
            None,
        ),
        (IMPORT_FAILURE, {"job": "j", "hash": "h", **OWN}, "U:ann", "IJ:j:h", None),
        (DESTINATION, {"service": "s", "table": "sxffffx002f"}, "ND:s", "ND:sxffffx002f", "ND"),
        (DESTINATION_NAME, {"table": "sxffffx002f"}, "NT:sxffffx002f", "NT", None),
        (NOTIFIED, {"id": "1f"}, "NR:1f", "NR", None),
        (INGEST_COUNT, {"service": "s", "path": "/p", "shard": 7}, "NC:s:/p", "NC:07", None),
        (DEAD_LETTER, {"id": ID, "service": "s", "path": "/p"}, f"NX:{ID}", "NX", "NX:s:/p"),
        (NAMING_RULES, {"kind": "grouping"}, "NM:grouping", "NM", None),
        (SERVICE, {"group": "~s", "service": "S"}, "NS", "NS:~s:S", None),
        (SERVICE_PATH, {"service": "S", "group": "~s~p", "path": "/P"}, "NP:S", "NP:~s~p:/P", None),
        (
            ENTITY,
            {"service": "s", "path": "/p", "entity": "urn:1", "type": "t"},
            "NE:s:/p",
            "NE:urn%3A1:t",
            None,
        ),
        (
            ATTRIBUTE,
            {"service": "s", "path": "/p", "entity": "e", "type": "t", "attribute": "a"},
            "NA:s:/p:e:t",
            "NA:a",
            None,
        ),
        (MANIFEST, {"group": USA, "name": "a:b"}, "RM:/usa", "RM:a%3Ab", "RM"),
        (MANIFEST_COUNT, {"manifest": (USA, "a:b"), "shard": 3}, "RC:/usa#a%3Ab", "RC:03", None),
        (RUN, {"manifest": (USA, "m#n"), "run": "a/r=1/"}, "R:/usa#m%23n:a/r=1/", "R", None),
        (
            RUN_EVENT,
            {"manifest": (USA, "m"), "run": "r", "seq": 12},
            "R:/usa#m:r",
            "RH:0000000012",
            None,
        ),
        (
            RUN_LISTED,
            {"manifest": (USA, "m"), "list": "NEW", "added": 1660175720, "id": ID},
            "RL:/usa#m:NEW",
            f"RL:1660175720:{ID}",
            None,
        ),
        (STAGED, {"id": ID}, f"F:{ID}", "F", "F:staged"),
        (CALCULATION.latest, {"id": ID}, f"C:{ID}", "C", None),
        (CALCULATION.version, {"id": ID, "version": 2}, f"C:{ID}", "CV:0000000002", None),
        (REFERENCE_DATASET.latest, {"id": ID}, f"D:{ID}", "D", None),
        (REFERENCE_DATASET.version, {"id": ID, "version": 2}, f"D:{ID}", "DV:0000000002", None),
        (PLAYLIST, {"playlist": ID}, f"PL:{ID}", "PL", None),
        (PLAYLIST_MEMBER, {"user": "ann:1", "playlist": ID}, "U:ann%3A1", f"PL:{ID}", f"PL:{ID}"),
        (
            PLAYLIST_ENTRY,
            {"playlist": ID, "rank": "ZabB", "entry": "e", "audio": "a"},
            f"PL:{ID}",
            "PLI:ZabB:e",
            "AU:a",
        ),
        (ANNOTATION, {"user": "ann", "kind": "AU", "id": ID}, "U:ann", f"AN:AU:{ID}", None),
        (
            FAVOURITE,
            {"user": "ann", "kind": "AU", "at": "2022-08-10T23:55:20.322Z", "id": ID},
            "U:ann",
            f"FV:AU:2022-08-10T23%3A55%3A20.322Z:{ID}",
            None,
        ),
        (
            PLAY,
            {"user": "ann", "at": "2022-08-10T23:55:20.322Z", "audio": ID},
            "U:ann",
            f"HI:2022-08-10T23%3A55%3A20.322Z:{ID}",
            None,
        ),
        (PLAY_QUEUE, {"user": "ann"}, "U:ann", "PQ", None),
    ],
)
def test_a_row_stands_where_the_model_draws_it(
    row: Row, values: Mapping[str, KeyPart], pk: str, sk: str, index: str | None
) -> None:
    item = row.item(**values)
    assert item == {"pk": pk, "sk": sk} | ({} if index is None else {"siKey1": index})
    assert row.key(**values) == (pk, sk)


def test_tombstones_are_listed_apart_from_what_lives() -> None:
    assert TOMBSTONE.fill({"kind": "P"}) == "X:P"


def test_a_row_without_an_index_is_listed_nowhere() -> None:
    with pytest.raises(ValueError, match="not indexed"):
        NAME.index_partition(kind="P", name="n", group=USA)


def pipeline(**more: object) -> Pipeline:
    fields: dict[str, object] = {
        "id": ID,
        "name": "Smelt",
        "state": State.ENABLED,
        "tags": tags("m=a/b"),
        "groups": (USA,),
        "owner": USA,
        "version": 3,
        "revision": 7,
        "created_at": "2022-08-10T23:55:20.322Z",
        "created_by": "ann",
        "updated_at": "2022-08-10T23:55:20.322Z",
        "updated_by": "ann",
        "transformer": TRANSFORMER,
    }
    return Pipeline(**{**fields, **more})  # type: ignore[arg-type]


def test_the_latest_row_and_that_of_its_version_hold_the_same_and_are_not_indexed() -> None:
    latest, version = latest_item(PIPELINE, pipeline()), version_item(PIPELINE, pipeline())
    assert (latest["pk"], latest["sk"]) == (f"P:{ID}", "PV:latest")
    assert (version["pk"], version["sk"]) == (f"P:{ID}", "PV:0000000003")
    assert {**latest, "sk": version["sk"]} == version
    assert "siKey1" not in version


def test_attributes_are_camel_case_and_absent_where_they_say_nothing() -> None:
    item = latest_item(PIPELINE, pipeline())
    assert item["createdBy"] == "ann"
    assert item["tags"] == [{"key": "m", "value": "a/b"}]
    assert "id" not in item
    assert "description" not in item
    assert "attributes" not in item


TEXTS = st.text(max_size=8)
PARAMETERS = st.builds(
    Parameter,
    index=st.integers(0, 9),
    key=TEXTS,
    label=st.none() | TEXTS,
    description=st.none() | TEXTS,
    type=st.sampled_from(ValueType),
    required=st.booleans(),
)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**15), 10**15) | TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=6,
)


@given(
    st.lists(PARAMETERS, max_size=3),
    st.none() | st.dictionaries(TEXTS, JSON, max_size=3),
    st.sampled_from(State),
    st.none() | TEXTS,
)
def test_a_record_comes_back_from_its_items_as_it_was(
    parameters: list[Parameter],
    attributes: dict[str, object] | None,
    state: State,
    description: str | None,
) -> None:
    transformer = Transformer(parameters=tuple(parameters), transforms=TRANSFORMER.transforms)
    one = pipeline(
        transformer=transformer, attributes=attributes, state=state, description=description
    )
    latest = latest_item(PIPELINE, one)
    assert load(Pipeline, latest, id=resource_id(latest)) == one
    kept = load(PipelineVersion, version_item(PIPELINE, one), id=ID)
    assert type(kept) is PipelineVersion
    assert (kept.transformer, kept.attributes, kept.version) == (transformer, attributes, 3)
