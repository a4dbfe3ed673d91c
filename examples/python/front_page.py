"""Prints what the first page of an orchestrator shows, in three requests, and then what changes.

python front_page.py http://127.0.0.1:8000/graphql TOKEN [EVENTS]

It needs an administrator's token of `/`, and goes on until Ctrl-C or after so many EVENTS.
"""

import json
import sys
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from itertools import islice
from pathlib import Path
from typing import Any

import httpx
from graphql import parse, print_ast, separate_operations

DOCUMENT = Path(__file__).parents[1] / "front_page.graphql"
OPERATIONS = {
    name: print_ast(document)
    for name, document in separate_operations(parse(DOCUMENT.read_text())).items()
}
DOTS = {"SUCCESS": "+", "FAILED": "x", "IN_PROGRESS": ">", "WAITING": ".", "CANCELLED": "-"}


def ask(client: httpx.Client, url: str, operation: str, **variables: Any) -> Any:
    body = {"query": OPERATIONS[operation], "variables": variables}
    answer = client.post(url, json=body).json()
    if "errors" in answer:
        raise SystemExit(answer["errors"][0]["message"])
    return answer["data"]


def listen(client: httpx.Client, url: str) -> Iterator[Any]:
    """Yield the events of the subscription, by server-sent events."""
    body = {"query": OPERATIONS["Live"]}
    headers = {"Accept": "text/event-stream"}
    with client.stream("POST", url, json=body, headers=headers, timeout=None) as answer:
        for line in answer.iter_lines():
            if line.startswith("data: {"):
                yield json.loads(line.removeprefix("data: "))["data"]["executionsChanged"]


def describe(run: Any) -> str:
    seconds = run["durationSeconds"]
    took = "" if seconds is None else f", {seconds:g} s"
    return f"{run['state']:11} {run['pipeline']['name']}, by {run['createdBy']}{took}"


def show_page(client: httpx.Client, url: str) -> None:
    pipelines = ask(client, url, "Pipelines")["pipelines"]["nodes"]
    print(f"{len(pipelines)} pipelines, each with its latest executions:")
    for pipeline in pipelines:
        states = (each["state"] for each in pipeline["executions"]["nodes"])
        print(f"  {''.join(DOTS[state] for state in states):5} {pipeline['name']}")
    since = (datetime.now(UTC) - timedelta(days=1)).isoformat()
    activity = ask(client, url, "Activity", since=since)
    counts = (
        f"{each['count']}{'' if each['isComplete'] else '+'} {each['state']}"
        for each in activity["executionCounts"]
    )
    print(f"In the last day: {', '.join(counts)}")
    for title in ("running", "failed", "recent"):
        print(f"{title.capitalize()}:")
        for run in activity[title]["nodes"]:
            print(f"  {describe(run)}")
    health = ask(client, url, "Health")
    if health["system"] is None:
        raise SystemExit("The token is not that of an administrator of `/`.")
    queue = health["system"]["executions"]
    print(f"Penstock {health['system']['version']}: {queue['waiting']} wait for a worker")
    for worker in health["workers"]["nodes"]:
        print(f"  {worker['kind']} on {worker['host']}: {worker['running']} of {worker['places']}")
    for problem in health["system"]["problems"]:
        print(f"  {problem['check']}: {problem['message']}")


def main(arguments: list[str]) -> int:
    if len(arguments) not in (2, 3):
        print("usage: python front_page.py URL TOKEN [EVENTS]", file=sys.stderr)
        return 2
    url, token, *events = arguments
    headers = {"Authorization": f"Bearer {token}"}
    with httpx.Client(headers=headers, timeout=30) as client:
        show_page(client, url)
        changes = listen(client, url)
        for event in islice(changes, int(events[0])) if events else changes:
            run = event["execution"]
            about = "" if run is None else f" {describe(run)}"
            print(f"{event['change']}{about}", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
