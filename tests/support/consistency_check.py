"""Reads the whole table raw, and derives every expected row from the facts anew.

The facts are the latest rows of resources and the rows of groups. All other rows follow from them:
versions, grants, postings, counters, names and markers. Keys are written out here again, so that a
mistake in the layout shows.
"""

import re
from collections import Counter, defaultdict
from collections.abc import AsyncIterator, Iterable, Mapping
from datetime import datetime
from functools import lru_cache
from hashlib import blake2b
from typing import Any
from unicodedata import combining, normalize

from penstock.datastore.dynamodb.table import DynamoDBTable
from penstock.datastore.dynamodb.wire import Raw, decode_item
from penstock.datastore.sqlite.rows import decode
from penstock.datastore.sqlite.table import SqliteTable
from penstock.datastore.table.port import Attributes, Key, Table, key_of
from penstock.datastore.table.schema_marker import GuardedTable
from tests.support.table_interceptors import InterceptedTable, LaggingTable

LOGS = ("AT:", "CL:")
QUOTAS = ("QL:", "QU:")
OF_SAMPLES = ("NG:", "NH:", "NL:")
NGSI = ("NA:", "NC:", "ND:", "NE:", "NF:", "NM:", "NP:", "NR:", "NS", "NT:", "NX:", *OF_SAMPLES)
OWN_FACTS = (
    "IK:",
    "AK:",
    "RO:",
    "K:",
    "SM",
    "J:",
    "JA:",
    "JG:",
    "JU:",
    "WK",
    "WD",
    "U:",
    "PL:",
    "KR:",
    "R:",
    "RC:",
    "RL:",
    "RM:",
    "FU:",
    *QUOTAS,
    *NGSI,
)
"""Key prefixes of receipts, API keys, jobs, quotas and the marker, from which no row is derived.

Results (`PER:`) and heads of kept rows (`PKR`) are also such rows.

Audio libraries, runs and NGSI have their own checks.
"""
STAGES = {"waiting": "ready", "in_progress": "ready"}
"""The work list of an execution by its state; a finished one is kept for some time."""

LATEST = {"P": "PV:latest", "C": "C", "D": "D", "M": "M"}
"""The sort key of the latest row of each kind; that of a version begins with the kind and `V:`."""

Rows = dict[Key, Attributes]
Facts = dict[Key, dict[str, Any]]


async def contents(table: Table) -> Rows:
    """Return every item of the table, by its key, but for logs, which expire by themselves."""
    items = await contents_with_logs(table)
    return {key: item for key, item in items.items() if not key.pk.startswith(LOGS)}


async def contents_with_logs(table: Table) -> Rows:
    """Return every item of the table, by its key, also those of changes and audit trails."""
    while isinstance(table, InterceptedTable | LaggingTable | GuardedTable):
        table = table._table
    if isinstance(table, SqliteTable):
        select = "SELECT body FROM items"
        rows = await table._reader.run(lambda file: file.execute(select).fetchall())
        return dict(_read_body(body) for (body,) in rows)
    assert isinstance(table, DynamoDBTable)
    items = [decode_item(raw) async for raw in _scan_table(table)]
    return {key_of(item): item for item in items}


@lru_cache(maxsize=20_000)
def _read_body(body: bytes) -> tuple[Key, Attributes]:
    """Decode a row once: most are read again to show that they are as they were."""
    item = decode(body)
    return key_of(item), item


async def _scan_table(table: DynamoDBTable) -> AsyncIterator[Raw]:
    start: Raw = {}
    while True:
        request = {"TableName": table._name, "ConsistentRead": True, **start}
        page = await table._client.call("Scan", request)
        for raw in page["Items"]:
            yield raw
        if "LastEvaluatedKey" not in page:
            return
        start = {"ExclusiveStartKey": page["LastEvaluatedKey"]}


async def faults(table: Table) -> list[str]:
    """Return the differences between the table and its expected rows; empty if there are none."""
    rows = await contents(table)
    wanted, standing = _expected_rows(rows), _standing_rows(rows)
    found = [f"missing {key}: {wanted[key]}" for key in wanted.keys() - standing.keys()]
    found += [f"orphan {key}: {standing[key]}" for key in standing.keys() - wanted.keys()]
    found += [
        f"wrong {key}: {standing[key]}, should be {wanted[key]}"
        for key in wanted.keys() & standing.keys()
        if wanted[key] != standing[key]
    ]
    return sorted(found + list(_odd_labels(rows)) + list(_missing_listings(rows)))


def escape_key(text: str) -> str:
    return text.replace("%", "%25").replace(":", "%3A").replace("#", "%23")


def form(text: str) -> str:
    """Return the comparison form of a text, as far as these tests use unusual texts."""
    return text.strip().casefold()


def words_form(name: str) -> str:
    """Return a name without accents, as far as these tests use unusual names."""
    plain = "".join(one for one in normalize("NFKD", name) if not combining(one))
    return " ".join(plain.casefold().split())


def name_words(form: str) -> list[str]:
    """Return the first eight different words of a name."""
    return list(dict.fromkeys(re.findall(r"[^\W_]+", form)))[:8]


def line(group: str) -> list[str]:
    """Return the ancestors of a group from the root down, without the group."""
    names = group.strip("/").split("/") if group != "/" else []
    return ["/" + "/".join(names[:n]) for n in range(len(names))]


def _expected_rows(rows: Rows) -> Facts:
    wanted: Facts = {}
    counters: dict[Key, Counter[str]] = defaultdict(Counter)
    for (pk, sk), item in rows.items():
        kind, _, id = pk.partition(":")
        if sk == LATEST.get(kind) and "deletedAt" not in item:
            _resource(kind, id, item, wanted, counters)
        elif sk == "PE:P":
            _execution(id, item, wanted, counters)
        elif pk.startswith("GC:"):
            _shard_row(Key(pk, sk), wanted, counters)
        elif pk.startswith("G:") and sk != "G:/":
            wanted.setdefault(Key(pk, sk), {"group": True})
            _group(pk.removeprefix("G:"), counters)["children"] += 1
        elif pk.startswith("RM:"):
            _group(pk.removeprefix("RM:"), counters)["grants"] += 1
    _add_counts(wanted, counters)
    return wanted


def _add_counts(wanted: Facts, counters: Mapping[Key, Counter[str]]) -> None:
    for key, counts in counters.items():
        if present := {name: count for name, count in counts.items() if count}:
            wanted[key] = {**wanted.get(key, {}), **present}


def _group(path: str, counters: dict[Key, Counter[str]]) -> Counter[str]:
    above = line(path)
    return counters[Key(f"G:{above[-1] if above else ''}", f"G:{path}")]


def _shard_row(key: Key, wanted: Facts, counters: dict[Key, Counter[str]]) -> None:
    """A shard's row stays, also empty, until its group goes; the group's row counts its shards."""
    path = key.pk.removeprefix("GC:")
    if path == "/":
        return
    wanted.setdefault(key, {"open": True})
    _group(path, counters)["shards"] += 1


def _count_grant(path: str, shard: int, counters: dict[Key, Counter[str]]) -> None:
    """Count a resource in its shard of a group, which the row of the group knows of."""
    row = Key(f"GC:{path}", f"GC:{shard:02}")
    if shard == 0:
        _group(path, counters)["grants"] += 1
    else:
        counters[row]["grants"] += 1


def _suffix(shard: int) -> str:
    return f"\x01{shard:02}" if shard else ""


def _resource(
    kind: str, id: str, item: Mapping[str, Any], wanted: Facts, counters: dict[Key, Counter[str]]
) -> None:
    pk = f"{kind}:{id}"
    wanted[Key(pk, LATEST[kind])] = {"version": item["version"]}
    wanted[Key(pk, "L")] = {"siKey1": kind}
    wanted |= _rows_limit(pk, item)
    for version in range(1, item["version"] + 1):
        wanted[Key(pk, f"{kind}V:{version:010}")] = {"version": version}
    values = {
        escape_key(form(tag["key"])): [escape_key(form(level)) for level in tag["value"].split("/")]
        for tag in item["tags"]
    }
    plain = {
        form(tag["key"]): "#".join(escape_key(form(level)) for level in tag["value"].split("/"))
        for tag in item["tags"]
    }
    if versions := item.get("countedVersions"):
        kept = counters[_kept_key(item["owner"], item["createdBy"], item.get("shard", 0))]
        kept.update(count=1, versions=versions)
        kept.update(files=item.get("countedFiles", 0), bytes=item.get("countedBytes", 0))
    for home in {*item["groups"], item["owner"]}:
        _count_grant(home, item.get("shard", 0), counters)
    if item["owner"] not in item["groups"]:
        at_owner = f"O:{item['owner']}"
        wanted[Key(pk, at_owner)] = {"siKey1": at_owner}
    for group in item["groups"]:
        if kind == "P" and group != item["owner"]:
            shared = f"PS:{escape_key(item['owner'])}:{id}"
            wanted[Key(f"PS:{escape_key(group)}", shared)] = {"shared": True}
        named = {"name": words_form(item["name"])} if item.get("named") else {}
        wanted[Key(pk, f"G:{group}")] = {"siKey1": f"G:{group}", "tags": plain, **named}
        words = name_words(named.get("name", ""))
        wanted |= {Key(f"NW:{group}:{kind}", f"NW:{word}:{id}"): named for word in words}
        _name(id, f"AID:{kind}:{escape_key(form(item['name']))}", group, wanted, counters)
        for key, levels in values.items():
            _tag(kind, id, group, key, levels, plain, item.get("shard", 0), wanted, counters)
    _uses(f"{kind}:{id}", item, wanted, counters)


def _rows_limit(pk: str, item: Mapping[str, Any]) -> Facts:
    """The row by which the kept rows of a pipeline leave after some days."""
    days = (item.get("transformer", {}).get("rows") or {}).get("keepDays")
    return {Key(pk, "PKD"): {"siKey1": "PKD", "keepDays": days}} if days else {}


def _uses(
    user: str, item: Mapping[str, Any], wanted: Facts, counters: dict[Key, Counter[str]]
) -> None:
    """A resource is listed under each that it uses, for each of its grants, and counted once."""
    named = item["references"] if item.get("linked") else ()
    for used in {f"{one['kind']}:{one['id']}" for one in named}:
        counters[Key(used, "UC")]["count"] += 1
        listed = [f"UB:{escape_key(group)}:{user}" for group in item["groups"]]
        wanted |= {Key(used, sk): {"empty": True} for sk in listed}


def _kept_key(group: str, user: str, shard: int) -> Key:
    """The row that counts what a user keeps in a group, below the highest group but the root."""
    top = [*line(group), group][:2][-1]
    digest = blake2b(user.encode(), digest_size=16).hexdigest()
    return Key(f"QG:{escape_key(top)}", f"QG:{escape_key(group)}/:{digest}:{shard:02}")


def _missing_listings(rows: Rows) -> Iterable[str]:
    """The counts of users that their own lists do not name."""
    for (pk, sk), item in rows.items():
        if pk.startswith("QG:"):
            _, group, _, shard = sk.split(":")
            listed = Key(f"QU:{escape_key(str(item['user']))}", f"QU:{group[:-1] or '/'}:{shard}")
            if listed not in rows:
                yield f"unlisted {pk}, {sk}"


def _execution(
    id: str, item: Mapping[str, Any], wanted: Facts, counters: dict[Key, Counter[str]]
) -> None:
    pipeline = item["pipelineId"]
    wanted[Key(f"PE:{id}", "PE:P")] = {"siKey1": f"P:{pipeline}"}
    wanted[Key(f"PE:{id}", "PEP")] = {"empty": True}
    for seq in range(1, item["events"] + 1 - ("deletedAt" in item)):
        wanted[Key(f"PE:{id}", f"PEH:{seq:010}")] = {"empty": True}
    stage = STAGES.get(item["state"], "expire")
    if item["state"] == "waiting" and "readyAt" not in item:
        stage = "upload"
    shard = int(id[-4:], 16) % 8
    wanted[Key(f"PED:{stage}:{shard:02}", f"PED:{item['due']:013}:{id}")] = {"empty": True}
    counters[Key(f"P:{pipeline}", "PEC")]["count"] += 1
    if owner := item.get("owner"):
        kept = counters[_kept_key(owner, item["createdBy"], item.get("shard", 0))]
        kept.update(files=item.get("countedFiles", 0), bytes=item.get("countedBytes", 0))
        _lists_of_execution(id, item, wanted)
    values = {
        escape_key(form(tag["key"])): [escape_key(form(level)) for level in tag["value"].split("/")]
        for tag in item["tags"]
    }
    carried = {
        form(tag["key"]): "#".join(values[escape_key(form(tag["key"]))]) for tag in item["tags"]
    }
    for key, levels in values.items():
        _tag("PE", id, pipeline, key, levels, carried, item.get("shard", 0), wanted, counters)


def _lists_of_execution(id: str, item: Mapping[str, Any], wanted: Facts) -> None:
    """An execution is in the list of its state; an ended one also by the time of its end."""
    if not item.get("listed"):
        return
    place = f"{escape_key(item['owner'])}:{item['state']}"
    wanted[Key(f"EL:{place}", f"EL:{id}")] = {"empty": True}
    if ended := item.get("finishedAt"):
        moment = datetime.fromisoformat(ended).timestamp()
        wanted[Key(f"EE:{place}", f"EE:{round(moment * 1000):013}:{id}")] = {"empty": True}


def _name(id: str, pk: str, group: str, wanted: Facts, counters: dict[Key, Counter[str]]) -> None:
    claim = wanted.setdefault(Key(pk, f"G:{group}"), {})
    claim["id"] = [*claim.get("id", []), id]
    for above in line(group):
        counters[Key(pk, f"G:{above}")]["below"] += 1


def _tag(
    kind: str,
    id: str,
    group: str,
    key: str,
    levels: list[str],
    carried: Mapping[str, str],
    shard: int,
    wanted: Facts,
    counters: dict[Key, Counter[str]],
) -> None:
    of_key = Key(f"TA:{group}:{key}{_suffix(shard)}", f"TA:{kind}")
    wanted.setdefault(of_key, {"siKey1": f"TA:{group}:{kind}"})
    counters[of_key]["count"] += 1
    for depth in range(1, len(levels) + 1):
        value = "#".join(levels[:depth])
        fits = kind == "PE" or _fits_posting(carried)
        posting = {"tags": carried} if fits else {"empty": True}
        wanted[Key(f"T:{group}:{key}", f"T:{value}:{kind}:{id}")] = posting
        counted = f"TA:{kind}:{depth:02}:{value}{_suffix(shard)}"
        counts = counters[Key(f"TA:{group}:{key}", counted)]
        counts["count"] += 1
        if depth < len(levels):
            counts["deeper"] += 1


def _fits_posting(carried: Mapping[str, str]) -> bool:
    characters = sum(len(key) + len(value) for key, value in carried.items())
    return len(carried) <= 16 and characters <= 2_000


def _standing_rows(rows: Rows) -> Facts:
    standing = {key: _compared_attributes(key, item) for key, item in rows.items()}
    # The root needs no row; a root row with counts of zero holds no information.
    return {
        key: facts
        for key, facts in standing.items()
        if facts != {}
        and not key.pk.startswith(OWN_FACTS)
        and not key.sk.startswith(("PER:", "PKR"))
        if key.sk not in ("PEC", "UC") or "count" in facts or not _is_there(key.pk, rows)
    }


def _is_there(pk: str, rows: Rows) -> bool:
    return Key(pk, LATEST[pk.partition(":")[0]]) in rows


def _compared_attributes(key: Key, item: Mapping[str, Any]) -> dict[str, Any]:
    """Return the compared attributes of a row; counts of zero are left out."""
    if key.pk.startswith("PS:"):
        return {"shared": True}
    counts = ["below", "children", "grants", "shards", "count", "deeper"]
    if key.pk.startswith("QG:"):
        # A row that nothing counts in any more stays.
        kept = ("count", "versions", "files", "bytes")
        return {name: item[name] for name in kept if item.get(name)}
    names: Iterable[str] = ("siKey1", "id", "keepDays", *counts)
    facts = {name: item[name] for name in names if item.get(name)} | _carried_name(key, item)
    if key.sk not in LATEST.values() and "tags" in item and isinstance(item["tags"], dict):
        facts["tags"] = item["tags"]
    if key.sk.startswith(("PV:0", "CV:0", "DV:0", "MV:0")) or key.sk in LATEST.values():
        facts["version"] = item["version"]
    if "id" in facts:
        facts["id"] = [facts["id"]]
    if key.pk.startswith("G:") and key.sk != "G:/":
        facts["group"] = True
    if key.pk.startswith("GC:") and key.pk != "GC:/":
        facts["open"] = True
    return facts or ({} if "/" in (key.sk[2:], key.pk[3:]) else {"empty": True})


def _carried_name(key: Key, item: Mapping[str, Any]) -> dict[str, Any]:
    """Return the name that a grant and the row of a word carry."""
    is_grant = key.sk.startswith("G:/") and "tags" in item
    carries = key.pk.startswith("NW:") or is_grant
    return {"name": item["name"]} if carries and "name" in item else {}


def _odd_labels(rows: Rows) -> Iterable[str]:
    for (pk, sk), item in rows.items():
        if pk.startswith("TA:"):
            named = sk in ("TA:P", "TA:C", "TA:D", "TA:M", "TA:PE")
            name = pk.rpartition(":")[2] if named else sk.rpartition(":")[2]
            name = name.partition("\x01")[0]
            if escape_key(form(str(item["label"]))) != name.rpartition("#")[2]:
                yield f"label {item['label']!r} of {pk}, {sk}"
