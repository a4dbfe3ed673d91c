"""`penstock manifest`: the life of a run from the command line."""

import asyncio
import json
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from penstock.datastore.objects.directory import LocalFiles
from penstock.datastore.sqlite.table import SqliteTable
from penstock.server.command_line import run
from penstock.server.runtime.stores import FILES
from tests.datastore.manifest.legacy_table import make_manifest_table
from tests.datastore.manifest.sample_runs import (
    LOADED_ITEM,
    NEW_ITEM,
    PROCESSED_ITEM,
    one_chunk,
    run_faults,
)
from tests.server.commands.doctor_report import isolate
from tests.support.consistency_check import contents, faults
from tests.support.stores import REGION, moto_endpoint

RUN = "enriched/archive/run=1/"
SAVED_TO = "s3://penstock/stage/run=1/"


@pytest.fixture(autouse=True)
def _alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    with isolate(tmp_path, monkeypatch):
        monkeypatch.setenv("PENSTOCK_DATA_DIR", str(tmp_path / "data"))
        assert run(["table", "create"]) == 0
        yield


class CommandResult:
    """The result of a command: its exit code, its text and its JSON."""

    def __init__(self, code: int, out: str, err: str) -> None:
        self.code, self.out, self.err = code, out, err

    @property
    def data(self) -> Any:
        return json.loads(self.out)


@pytest.fixture
def manifest(capsys: pytest.CaptureFixture[str]) -> Any:
    """Run a command on the manifest `snowplow` of the root."""
    capsys.readouterr()

    def command(name: str, *more: str, of: str | None = "snowplow") -> CommandResult:
        named = [] if of is None else ["--manifest", of]
        code = run(["manifest", name, *named, *more])
        printed = capsys.readouterr()
        return CommandResult(code, printed.out, printed.err)

    return command


async def _contents(tmp_path: Path) -> Any:
    table = SqliteTable.open(tmp_path / "data" / "penstock.db")
    try:
        assert await run_faults(table) == []
        assert await faults(table) == []
        return await contents(table)
    finally:
        await table.close()


def rows(tmp_path: Path) -> Any:
    return asyncio.run(_contents(tmp_path))


def test_a_run_goes_all_the_way(manifest: Any, tmp_path: Path) -> None:
    found = manifest("discover", RUN, "other/", "--added-by", "0.4.1", "--json").data["runs"]
    assert [(each["runId"], each["state"]) for each in found] == [(RUN, "NEW"), ("other/", "NEW")]
    claimed = manifest("claim", RUN, "--stage", "transform", "--owner", "w1", "--json").data["run"]
    assert (claimed["state"], claimed["fence"], claimed["leaseOwner"]) == ("PROCESSING", 1, "w1")
    assert manifest("heartbeat", RUN, "--fence", "1", "--lease", "1h").code == 0
    more = ["--shred-type", "a", "--shred-type", "b", "--count", "rows=12", "--count", "x=0"]
    done = manifest("processed", RUN, "--fence", "1", "--saved-to", SAVED_TO, *more)
    assert done.out.startswith("Processed: PROCESSED ")
    assert manifest("claim", RUN, "--stage", "load", "--owner", "w2").out.startswith(
        "In hand, fence 2: LOADING"
    )
    loaded = manifest("loaded", RUN, "--fence", "2", "--loaded-by", "0.4.1", "--json").data["run"]
    assert loaded == {
        **loaded,
        "state": "LOADED",
        "shredTypes": ["a", "b"],
        "savedTo": SAVED_TO,
        "loadedBy": "0.4.1",
        "counts": {"rows": 12, "x": 0},
        "leaseOwner": None,
        "attempt": 1,
        "version": 6,
    }
    again = manifest("reload", RUN, "--force", "--reason", "dropped", "--user", "ana")
    assert again.out.startswith("To be loaded again: PROCESSED")
    told = manifest("show", RUN, "--json").data
    assert [(event["action"], event["by"]) for event in told["history"]] == [
        ("reload", "ana"),
        ("loaded", "penstock-cli"),
        ("claim", "penstock-cli"),
        ("processed", "penstock-cli"),
        ("claim", "penstock-cli"),
        ("discover", "penstock-cli"),
    ]
    shown = manifest("show", RUN).out
    assert "shredTypes      a, b\n" in shown
    assert "counts          rows=12, x=0\n" in shown
    assert "reload      PROCESSED   by ana: dropped\n" in shown
    rows(tmp_path)


def test_a_run_that_fails_is_claimed_again(manifest: Any) -> None:
    manifest("discover", RUN, "--added-by", "t")
    manifest("claim", RUN, "--stage", "transform", "--owner", "w1")
    refused = manifest("claim", RUN, "--stage", "transform", "--owner", "w2")
    assert (refused.code, refused.out) == (1, "")
    assert refused.err.startswith("penstock: LEASE_HELD: w1 has the run in hand for another ")
    assert manifest("fail", RUN, "--fence", "1", "--error", "disk\nfull").code == 0
    assert "by penstock-cli: disk full" in manifest("show", RUN).out
    again = manifest("claim", RUN, "--stage", "transform", "--owner", "w2", "--json").data["run"]
    assert (again["attempt"], again["lastError"]) == (2, "disk\nfull")


def test_a_run_is_skipped_and_unskipped(manifest: Any) -> None:
    manifest("discover", RUN, "--added-by", "t", "--skip-reason", "broken", "--pipeline", "web")
    run_now = manifest("unskip", RUN, "--reason", "mended", "--json").data["run"]
    assert (run_now["toSkip"], run_now["pipeline"]) == (False, "web")
    assert manifest("skip", RUN, "--reason", "bad day").out.endswith("(skipped)\n")
    refused = manifest("claim", RUN, "--stage", "load", "--owner", "w")
    assert refused.err.startswith("penstock: ILLEGAL_STATE: ")


def test_a_stuck_run_is_recovered_reset_or_deleted(manifest: Any, tmp_path: Path) -> None:
    manifest("discover", RUN, "--added-by", "t")
    where = ["--stage-path", "s3://penstock/stage"]
    assert manifest("recover", RUN, *where, "--no-shred-types").err == (
        f"penstock: OUTPUT_MISSING: There is no _SUCCESS in {SAVED_TO}.\n"
    )
    assert manifest("recover", RUN, *where).err.startswith("penstock: BAD_USER_INPUT: shredTypes")
    assert manifest("reset", RUN, "--saved-to", SAVED_TO, "--reason", "r").out.startswith("Reset")

    async def write_success() -> None:
        path = tmp_path / "data" / FILES
        files = await LocalFiles.open(path, base_url="http://x", key=b"k" * 32)
        await files.write("stage/run=1/_SUCCESS", one_chunk(b""), content_type="text/plain")
        await files.close()

    asyncio.run(write_success())
    assert manifest("reset", RUN, *where).err.startswith("penstock: OUTPUT_EXISTS: ")
    recovered = manifest("recover", RUN, *where, "--shred-type", "a", "--json").data["run"]
    assert (recovered["state"], recovered["savedTo"]) == ("PROCESSED", SAVED_TO)
    manifest("discover", "other/", "--added-by", "t")
    assert manifest("reset", "other/", "--force", "--delete").out.startswith("Deleted: NEW")
    assert manifest("show", "other/").err == "penstock: NOT_FOUND: There is no such run.\n"
    rows(tmp_path)


def test_runs_are_listed_as_asked(manifest: Any) -> None:
    ids = [f"run={n:03}/" for n in range(120)]
    manifest("discover", *ids, "--added-by", "t")
    manifest("claim", ids[3], "--stage", "transform", "--owner", "w")

    def listed_ids(*more: str) -> list[str]:
        return [each["runId"] for each in manifest("list", "--json", *more).data["runs"]]

    assert listed_ids() == ids[:100]
    assert listed_ids("--limit", "1000") == ids
    assert listed_ids("--limit", "3", "--newest-first") == ids[:-4:-1]
    assert listed_ids("--state", "processing") == [ids[3]]
    today = datetime.now(UTC).date()
    # The date may change while the test runs.
    later, earlier = str(today + timedelta(days=2)), str(today - timedelta(days=2))
    assert listed_ids("--since", later) == []
    assert listed_ids("--until", earlier) == []
    assert listed_ids("--since", earlier, "--until", f"{later}T12:00+02:00")
    assert listed_ids("--stale") == []
    assert manifest("list", "--since", later).out == "There are no such runs.\n"
    assert len(manifest("list", "--limit", "5").out.splitlines()) == 5


def test_manifests_are_listed_without_one(manifest: Any) -> None:
    assert manifest("list", of=None).out == "There are no manifests.\n"
    manifest("discover", "a/", "b/", "--added-by", "t")
    manifest("discover", "a/", "--added-by", "t", of="Web")
    assert manifest("list", of=None).out == "       2  snowplow\n       1  Web\n"
    listed = manifest("list", "--group", "/", "--json", of=None).data["manifests"]
    plain: dict[str, Any] = {"retries": None, "consumers": [], "consumes": None}
    assert listed == [
        {"name": "snowplow", "runCount": 2, **plain},
        {"name": "Web", "runCount": 1, **plain},
    ]


def test_a_consumer_gets_runs_until_it_is_removed(manifest: Any, tmp_path: Path) -> None:
    manifest("discover", "a/", "b/", "--added-by", "t")

    def process(run: str) -> None:
        manifest("claim", run, "--stage", "transform", "--owner", "w1")
        manifest("processed", run, "--fence", "1", "--saved-to", SAVED_TO)

    process("a/")
    make = ("create-consumer", "lake", "--start", "beginning")
    assert manifest(*make, "--dry-run").out == "(dry run)        0  lake\n"
    assert manifest(*make).out == "       1  lake\n"
    listed = manifest("list", "--json", of=None).data["manifests"]
    assert [(each["name"], each["consumers"], each["consumes"]) for each in listed] == [
        ("lake", [], "snowplow"),
        ("snowplow", ["lake"], None),
    ]
    assert manifest("remove-consumer", "lake", "--dry-run").code == 0
    assert manifest("remove-consumer", "lake").code == 0
    process("b/")
    assert [run["runId"] for run in manifest("list", "--json", of="lake").data["runs"]] == ["a/"]
    refused = manifest("remove-consumer", "lake")
    assert refused.err == "penstock: NOT_FOUND: The manifest has no such consumer.\n"
    rows(tmp_path)


def test_runs_are_listed_by_tag_and_batch(manifest: Any, tmp_path: Path) -> None:
    labels = ("--tag", "country=de", "--tag", "load=web/hourly", "--batch", "today")
    found = manifest("discover", "a/", "b/", "--added-by", "t", *labels, "--json").data["runs"]
    assert found[0]["tags"] == {"country": "de", "load": "web/hourly"}
    assert found[0]["batch"] == "today"
    assert manifest("tag", "b/", "--tag", "country=fr").code == 0

    def listed_ids(*choice: str) -> list[str]:
        return [run["runId"] for run in manifest("list", *choice, "--json").data["runs"]]

    assert listed_ids("--tag", "country=de") == ["a/"]
    assert listed_ids("--tag", "country=fr") == ["b/"]
    assert listed_ids("--batch", "today", "--state", "new") == ["a/"]
    refused = manifest("list", "--tag", "country")
    assert (refused.code, refused.err) == (2, "penstock: --tag country: must be like country=de.\n")
    rows(tmp_path)


def test_a_run_is_given_up_and_tried_again_when_someone_says_so(
    manifest: Any, tmp_path: Path
) -> None:
    manifest("discover", "a/", "--added-by", "t")
    rules = ("--max-attempts", "1", "--first-delay", "10s", "--longest-delay", "1m")
    assert manifest("retries", *rules).out == (
        "       1  snowplow  (at most 1 attempts, after 10 to 60 s)\n"
    )
    manifest("claim", "a/", "--stage", "transform", "--owner", "w1")
    failed = manifest("fail", "a/", "--fence", "1", "--error", "disk full", "--json").data["run"]
    assert (failed["state"], failed["retryAt"]) == ("GIVEN_UP", None)
    refused = manifest("claim", "a/", "--stage", "transform", "--owner", "w1")
    assert (refused.code, refused.err) == (
        1,
        "penstock: RUN_GIVEN_UP: The run was given up: `retryRun` lets workers try it again.\n",
    )
    assert len(manifest("list", "--state", "given_up", "--json").data["runs"]) == 1
    again = manifest("retry", "a/", "--reason", "the disk was emptied", "--json").data["run"]
    assert (again["state"], again["attempt"], again["retryAt"]) == ("FAILED", 0, None)
    assert len(manifest("list", "--state", "failed", "--due", "--json").data["runs"]) == 1
    assert manifest("retries", "--none").out == "       1  snowplow\n"
    rows(tmp_path)


@pytest.mark.parametrize(
    ("command", "words"),
    [
        (["list", "--since", "yesterday"], "--since yesterday: must be a day or a time"),
        (["list", "--stale", "--state", "new"], "--stale goes with --older-than and --limit"),
        (["list", "--older-than", "soon"], "--older-than soon: must be like 12h"),
        (["list", "--group", "usa"], "--group: The group path 'usa' does not start with '/'."),
        (["show", "--group", "usa", RUN], "--group: The group path 'usa'"),
        (["show", "--user", "", RUN], "--user: The user id must not be empty."),
        (["claim", RUN, "--stage", "load", "--owner", "w", "--lease", "x"], "--lease x: must be"),
        (["loaded", RUN, "--fence", "1", "--loaded-by", "l", "--count", "x"], "--count x: must be"),
        (["loaded", RUN, "--fence", "-1", "--loaded-by", "l"], "Must be >= 0"),
        (["import"], "Name one source: a file, or a table with --from-table."),
        (["import", "x", "--from-table", "y"], "Name one source"),
        (["import", "nowhere.jsonl"], "nowhere.jsonl: No such file or directory"),
    ],
)
def test_a_command_line_that_makes_no_sense_changes_nothing(
    command: list[str], words: str, manifest: Any, tmp_path: Path
) -> None:
    manifest("discover", RUN, "--added-by", "t")
    before = rows(tmp_path)
    refused = manifest(*command)
    assert refused.code == 2
    assert words in refused.err
    assert rows(tmp_path) == before


def test_what_a_rule_refuses_is_told_with_its_code(manifest: Any, tmp_path: Path) -> None:
    manifest("discover", "run=0/", "--added-by", "t")
    before = rows(tmp_path)
    refused = manifest("discover", "s3://bucket/run=1/", "--added-by", "t")
    assert refused.code == 1
    assert refused.err.startswith("penstock: BAD_USER_INPUT: runId: is a path inside")
    nowhere = manifest("discover", RUN, "--added-by", "t", "--group", "/nowhere", "--json")
    assert json.loads(nowhere.err) == {
        "error": {"exitCode": 1, "messages": ["NOT_FOUND: There is no group /nowhere."]}
    }
    assert rows(tmp_path) == before


def test_a_store_that_is_not_there_is_told(manifest: Any, tmp_path: Path) -> None:
    missing = manifest("list", "--data-dir", str(tmp_path / "other"))
    assert (missing.code, missing.out) == (3, "")


ITEMS: list[Mapping[str, Any]] = [
    NEW_ITEM,
    {**LOADED_ITEM, "ToSkip": True},
    PROCESSED_ITEM,
    {"RunId": "r/"},
]


def test_a_file_is_imported_and_what_is_invalid_is_told(manifest: Any, tmp_path: Path) -> None:
    file = tmp_path / "manifest.jsonl"
    file.write_text("".join(json.dumps(dict(item)) + "\n" for item in ITEMS))
    before = rows(tmp_path)
    wrong = [
        "line 2 (archive/run=3/): it was loaded, and ToSkip is true",
        "line 4 (r/): AddedAt is missing; AddedBy is missing; ToSkip is missing",
    ]
    dry = manifest("import", str(file), "--dry-run")
    assert dry.code == 1
    assert dry.out.splitlines() == ["2 runs would enter, 0 were there, 2 are invalid.", *wrong]
    assert rows(tmp_path) == before
    imported = manifest("import", str(file))
    assert imported.out.splitlines() == ["2 runs entered, 0 were there, 2 are invalid.", *wrong]
    again = manifest("import", str(file), "--json")
    assert (again.code, again.data["entered"], again.data["standing"]) == (1, 0, 2)
    assert again.data["invalid"][0] == {
        "place": "line 2",
        "runId": "archive/run=3/",
        "reasons": ["it was loaded, and ToSkip is true"],
    }
    assert manifest("list", "--state", "processed").out.endswith("archive/run=2/\n")
    rows(tmp_path)


def test_an_invalid_item_of_several_lines_is_told_in_one(manifest: Any, tmp_path: Path) -> None:
    file = tmp_path / "manifest.jsonl"
    file.write_text(
        json.dumps({"RunId": "a/\n0 runs entered, 0 were there, 0 are invalid."}) + "\n"
    )
    first, *others = manifest("import", str(file)).out.splitlines()
    assert first == "0 runs entered, 0 were there, 1 is invalid."
    (line,) = others
    assert line.startswith("line 1 (a/ 0 runs entered, 0 were there, 0 are invalid.): ")


def test_of_many_invalid_items_the_first_are_told(manifest: Any, tmp_path: Path) -> None:
    file = tmp_path / "manifest.jsonl"
    file.write_text("{}\n" * 250)
    lines = manifest("import", str(file)).out.splitlines()
    assert lines[0] == "0 runs entered, 0 were there, 250 are invalid."
    assert len(lines) == 22
    assert lines[-1] == "... and 230 more; --json tells all."
    assert len(manifest("import", str(file), "--json").data["invalid"]) == 250


def test_a_table_of_dynamodb_is_imported(manifest: Any) -> None:
    name = asyncio.run(make_manifest_table(moto_endpoint(), ITEMS))
    where = ["--from-region", REGION, "--from-endpoint-url", moto_endpoint()]
    imported = manifest("import", "--from-table", name, *where)
    assert imported.out.splitlines()[0] == "2 runs entered, 0 were there, 2 are invalid."
    missing = manifest("import", "--from-table", f"{name}-not", *where)
    assert missing.code == 3
    assert "ResourceNotFoundException" in missing.err


async def _put_folders(tmp_path: Path, *folders: str) -> None:
    path = tmp_path / "data" / FILES
    files = await LocalFiles.open(path, base_url="http://x", key=b"k" * 32)
    for folder in folders:
        await files.write(f"{folder}part", one_chunk(b""), content_type="text/plain")
    await files.close()


def test_folders_are_compared_with_runs_and_registered_only_if_wanted(
    manifest: Any, tmp_path: Path
) -> None:
    asyncio.run(_put_folders(tmp_path, *(f"arch/run={number}/" for number in range(1, 24))))
    manifest("discover", "arch/run=1/", "arch/run=0/", "--added-by", "t")
    before = rows(tmp_path)
    found = manifest("folders", "s3://penstock/arch")
    lines = found.out.splitlines()
    assert found.code == 0
    assert lines[0] == "Folders: 23, without a run: 22. Runs without a folder: 1 (1 NEW)."
    assert lines[1] == "no run: arch/run=10/"
    assert lines[21] == "... and 2 more; --json tells all."
    assert lines[22:] == [
        "no folder: arch/run=0/ (NEW)",
        "Nothing was changed; with --register, a run is added for each folder.",
    ]
    assert rows(tmp_path) == before
    data = manifest("folders", "arch/", "--register", "--batch", "b", "--json").data
    assert (data["folders"], data["registered"], len(data["withoutRun"])) == (23, 22, 22)
    assert data["withoutFolder"] == [{"runId": "arch/run=0/", "state": "NEW"}]
    assert data["invalid"] == []
    assert len(manifest("list", "--batch", "b", "--json").data["runs"]) == 22
    again = manifest("folders", "arch/", "--register").out.splitlines()
    assert again[0] == "Folders: 23, without a run: 0. Runs without a folder: 1 (1 NEW)."
    assert again[-1] == "Runs added: 0."
    refused = manifest("folders", "s3://other/arch")
    assert (refused.code, refused.out) == (1, "")
    assert "is not in the bucket of the server" in refused.err


def test_a_dry_run_shows_what_would_happen_and_changes_nothing(
    manifest: Any, tmp_path: Path
) -> None:
    seen = manifest("discover", RUN, "--added-by", "t", "--dry-run", "--json").data["runs"]
    assert [run["state"] for run in seen] == ["NEW"]
    manifest("discover", RUN, "--added-by", "t")
    before = rows(tmp_path)
    claim = ["claim", RUN, "--stage", "transform", "--owner", "w", "--dry-run"]
    assert manifest(*claim).out.startswith("(dry run) In hand, fence 1: PROCESSING")
    dry = ("--dry-run", "--reason", "r")
    assert manifest("skip", RUN, *dry).out.endswith("(skipped)\n")
    where = ("--saved-to", SAVED_TO)
    assert manifest("reset", RUN, *dry, *where).out.startswith("(dry run) Reset: NEW")
    assert manifest("reset", RUN, "--delete", *dry, *where).out.startswith("(dry run) Deleted: ")
    assert manifest("recover", RUN, *dry, *where, "--no-shred-types").err.startswith(
        "penstock: OUTPUT_MISSING"
    )
    refused = manifest("loaded", RUN, "--fence", "0", "--loaded-by", "l", "--dry-run")
    assert refused.err.startswith("penstock: ILLEGAL_STATE: ")
    assert rows(tmp_path) == before


def test_new_shredded_types_are_planned(manifest: Any) -> None:
    manifest("discover", RUN, "--added-by", "t")
    manifest("claim", RUN, "--stage", "transform", "--owner", "w")
    done = ("--fence", "1", "--saved-to", SAVED_TO, "--shred-type", "a", "--shred-type", "b")
    manifest("processed", RUN, *done)
    assert manifest("types").out == (
        f"Runs that wait for a Loader: 1, new types in them: 2.\n{RUN}: a, b\n"
    )
    assert manifest("types", "--json").data == {
        "waiting": 1,
        "newTypes": [{"runId": RUN, "types": ["a", "b"]}],
    }
    refused = manifest("types", of="absent")
    assert (refused.code, refused.out) == (1, "")
