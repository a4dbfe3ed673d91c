"""The dashboard and the alert rules: they ask for metrics, labels and values that there are."""

import json
import re
from collections.abc import Iterator, Mapping
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from prometheus_client import Metric
from prometheus_client.metrics import MetricWrapperBase

from penstock.datastore.errors import ErrorCode
from penstock.datastore.executions.claims.claims import ExecutionQueue
from penstock.datastore.jobs.jobs import JobKind, JobQueue
from penstock.server.connections.gate import ConnectionGate, Gates, time_limits
from penstock.server.lineage.delivery import Delivery
from penstock.server.settings.settings import Settings
from penstock.server.telemetry.metrics import Metrics
from tests.datastore.ngsi.sample_destinations import open_destinations
from tests.datastore.ngsi.sample_sinks import open_world
from tests.server.telemetry.test_metrics import LABELS
from tests.support.stores import open_table

ROOT = Path(__file__).parents[2]
BOARD, RULES = ROOT / "deploy" / "grafana.json", ROOT / "deploy" / "alerts.yaml"
METRICS_PAGE = ROOT / "docs" / "operations.md"

SUFFIXES = {"counter": ("_total",), "gauge": ("",), "histogram": ("_bucket", "_count", "_sum")}
OF_THE_SCRAPE = {"job", "instance", "process", "le"}
"""Labels that Prometheus, the gathering of several processes, or a histogram adds."""

FOREIGN = {
    "up": set[str](),
    "process_cpu_seconds_total": set[str](),
    "process_resident_memory_bytes": set[str](),
}

VALUES: Mapping[str, set[str]] = {**LABELS, "store": {"sqlite", "dynamodb"}}

_SERIES = re.compile(r"\b((?:penstock|process)_[a-z_]+|up)\b(?:\{([^}]*)\})?")
_MATCHER = re.compile(r"([a-z_]+)(=|!=|=~|!~)\"([^\"]*)\"")
_GROUPS = re.compile(r"\b(?:by|without|on|ignoring) \(([a-z_, ]*)\)")


class KnownSamples(NamedTuple):
    """The names of the samples of a server, each with its labels."""

    labels: Mapping[str, set[str]]
    families: set[str]


@pytest.fixture(scope="module")
async def samples(tmp_path_factory: pytest.TempPathFactory) -> KnownSamples:
    """Every metric of ours, with all parts of a server attached."""
    metrics, folder = Metrics(), tmp_path_factory.mktemp("monitoring")

    async def read() -> Any:
        return ExecutionQueue(1, 1, 1.0), JobQueue(dict.fromkeys(JobKind, 1), 1.0)

    metrics.count_queues(read)
    metrics.count_fallbacks({})
    metrics.count_unpaid(lambda: 0)
    metrics.work.count_lineage(Delivery())
    limits = time_limits(Settings.load())
    metrics.count_connections(Gates(ConnectionGate(1, limits)))
    async with (
        open_table("sqlite", folder) as table,
        open_destinations("sqlite", folder) as destinations,
        open_world(table, destinations, folder) as world,
        world.open_sink() as sink,
    ):
        metrics.work.count_sink(sink)
        await metrics.work.refresh()
        families = [each for each in metrics.registry.collect() if each.name.startswith("penstock")]
    declared = declared_labels(metrics)
    labels = {
        family.name + suffix: declared.get(family.name, labels_of(family))
        for family in families
        for suffix in SUFFIXES[family.type]
    }
    # The executor's own counters have a series only for what happened.
    labels["penstock_interpreted_operations_total"] = {"reason"}
    return KnownSamples(labels, {family.name for family in families})


def declared_labels(metrics: Metrics) -> dict[str, set[str]]:
    """The labels of each metric, also of one without a series yet."""
    collectors = metrics.registry._collector_to_names
    return {
        each._name: set(each._labelnames)
        for each in collectors
        if isinstance(each, MetricWrapperBase)
    }


def labels_of(family: Metric) -> set[str]:
    return {label for sample in family.samples for label in sample.labels}


def board() -> dict[str, Any]:
    found: dict[str, Any] = json.loads(BOARD.read_text())
    return found


def panels() -> list[dict[str, Any]]:
    return [each for each in board()["panels"] if each["type"] != "row"]


def rules() -> Iterator[dict[str, Any]]:
    read = import_module("yaml").safe_load(RULES.read_text())
    assert list(read) == ["groups"]
    for group in read["groups"]:
        assert list(group) == ["name", "rules"]
        yield from group["rules"]


def expressions() -> list[str]:
    shown = [target["expr"] for panel in panels() for target in panel["targets"]]
    return shown + [rule["expr"] for rule in rules()]


def problems_of(expression: str, samples: KnownSamples) -> list[str]:
    """The metrics, labels and values in an expression that no server has."""
    known, found = {**samples.labels, **FOREIGN}, list[str]()
    series = _SERIES.findall(re.sub(_GROUPS, "", expression))
    usable = set(OF_THE_SCRAPE)
    for name, matchers in series:
        if name not in known:
            found.append(name)
            continue
        usable |= known[name]
        for label, operator, value in _MATCHER.findall(matchers):
            if label not in known[name] | OF_THE_SCRAPE:
                found.append(f"{name}: {label}")
            elif label in VALUES and operator in ("=", "!=") and value not in VALUES[label]:
                found.append(f"{name}: {label}={value}")
    for group in _GROUPS.findall(expression):
        found += [f"by {each}" for each in re.findall("[a-z_]+", group) if each not in usable]
    return found


@pytest.mark.parametrize("expression", expressions())
def test_an_expression_asks_for_what_there_is(expression: str, samples: KnownSamples) -> None:
    assert problems_of(expression, samples) == []
    assert _SERIES.search(expression)
    assert [expression.count(one) for one in "({["] == [expression.count(one) for one in ")}]"]


@pytest.mark.parametrize(
    ("expression", "problems"),
    [
        ("sum(penstock_nothing_total)", ["penstock_nothing_total"]),
        ("penstock_operations", ["penstock_operations"]),
        ('penstock_operations_total{codes="OK"}', ["penstock_operations_total: codes"]),
        ('penstock_operations_total{code="NO"}', ["penstock_operations_total: code=NO"]),
        ("sum by (tenant) (penstock_operations_total)", ["by tenant"]),
        ("sum by (code) (penstock_operations_total)", []),
    ],
)
def test_an_expression_for_what_there_is_not_is_found(
    expression: str, problems: list[str], samples: KnownSamples
) -> None:
    assert problems_of(expression, samples) == problems


def test_a_rule_says_what_to_do_and_how_urgent_it_is() -> None:
    names = [rule["alert"] for rule in rules()]
    assert len(names) == len(set(names)) > 10
    for rule in rules():
        assert set(rule) - {"for"} == {"alert", "expr", "labels", "annotations"}, rule["alert"]
        assert rule["labels"]["severity"] in ("page", "ticket")
        assert set(rule["annotations"]) == {"summary", "description"}
        assert re.fullmatch(r"[0-9]+[mh]", rule.get("for", "1m"))


def test_the_panels_of_the_dashboard_stand_side_by_side() -> None:
    taken: set[tuple[int, int]] = set()
    for panel in board()["panels"]:
        at = panel["gridPos"]
        places = {
            (at["x"] + right, at["y"] + down) for right in range(at["w"]) for down in range(at["h"])
        }
        assert at["x"] + at["w"] <= 24
        assert not places & taken, panel["title"]
        taken |= places
    ids = [panel["id"] for panel in board()["panels"]]
    assert len(ids) == len(set(ids))
    assert all(panel["title"] and panel["description"] for panel in panels())


def test_every_metric_is_documented(samples: KnownSamples) -> None:
    named = set(re.findall(r"`(penstock_[a-z_]+)`", METRICS_PAGE.read_text()))
    listed = re.findall(r"(?m)^\| `(penstock_[a-z_]+)` \|", METRICS_PAGE.read_text())
    families = {name.removesuffix("_total") for name in listed}
    assert families == samples.families
    assert len(listed) == len(families)
    assert {name.removesuffix("_total") for name in named} <= families


def test_no_metric_has_a_label_of_unbounded_values(samples: KnownSamples) -> None:
    found = {label for labels in samples.labels.values() for label in labels} - {"le"}
    assert found <= set(VALUES)
    assert {code.value for code in ErrorCode} < VALUES["code"]
