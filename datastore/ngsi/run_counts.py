"""The counts of a run of the sink: what arrived, and what became of it.

Those of a segment follow from its events, from what its file of intake says, and from which of the
events are dead. Those of a run are their sum, whoever adds them up.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Final

from penstock.datastore.manifest.rules import MAX_COUNTS, MAX_NAME
from penstock.datastore.ngsi.rows import Event, item_count

EVENTS: Final = "events"
PERSISTED: Final = "persisted"
DEAD: Final = "deadLettered"
"""The name of the count of events that could not be stored; `deadLettered:<table>` is that of the
items that they would have had in a table."""

ITEMS: Final = "items"
"""The name of the count of stored items; `items:<table>` is that of the items of a table."""

RECEIVED: Final = "received"
"""The name of the count of entities that arrived; `received:<table>` is that of the items for a
table, left out where it is that of the stored ones."""

DUPLICATES: Final = "duplicates"
"""The name of the count of entities that had arrived before; `duplicates:<table>` is that of the
items for a table."""

REFUSED: Final = "refused"
"""The name of the count of entities that became dead letters before they were events of a run;
`refused:<code>` is that of those with a code."""

REPLAYED: Final = "replayed"
"""The name of the count of events that were dead letters before, and not received by the run;
`replayed:<table>` is that of their items."""

MAX_CODES: Final = 3
"""The codes of refused entities that a run counts one by one."""

MAX_COUNTED: Final = 40
"""The counts of single tables that a run has: a run has few counts, with short names."""

_ALWAYS: Final = (EVENTS, PERSISTED, DEAD, ITEMS, RECEIVED)
_SELDOM: Final = (REFUSED, DUPLICATES, REPLAYED)
_OF_TABLES: Final = (ITEMS, DEAD, DUPLICATES, REPLAYED)
_ELSEWHERE = ""


def count_duplicates(entities: int, events: Iterable[Event]) -> Counter[str]:
    """Count a notification that arrived before, and the events that it would have had."""
    found = Counter({DUPLICATES: entities})
    for event in events:
        found[f"{DUPLICATES}:{event.table}"] += item_count(event)
    return found


def count_arrivals(events: Collection[Event], intake: Mapping[str, int]) -> Counter[str]:
    """Count the events of a segment, with what its intake counts, before they are stored."""
    found = Counter(intake)
    found[EVENTS] = len(events)
    is_replay = REPLAYED in intake
    found[RECEIVED] = found[REFUSED] + found[DUPLICATES] + (0 if is_replay else len(events))
    for table, items in list(_counts_of_tables(intake, DUPLICATES)):
        found[f"{RECEIVED}:{table}"] = items
    for event in events:
        found[f"{REPLAYED if is_replay else RECEIVED}:{event.table}"] += item_count(event)
    return found


def count_segment(
    events: Collection[Event], intake: Mapping[str, int], dead: int = 0
) -> Counter[str]:
    """Count a segment whose events are settled; `dead` has a bit for the place of each dead one."""
    found = count_arrivals(events, intake)
    found[ITEMS] = 0
    found[DEAD] = dead.bit_count()
    found[PERSISTED] = len(events) - found[DEAD]
    for place, event in enumerate(events):
        items = item_count(event)
        if dead >> place & 1:
            found[f"{DEAD}:{event.table}"] += items
        else:
            found[ITEMS] += items
            found[f"{ITEMS}:{event.table}"] += items
    return found


def show_counts(found: Mapping[str, int]) -> dict[str, int]:
    """The counts as a run shows them: of all, of the most frequent codes, and of each table.

    A table is left out whose names are too long, or with which the names would be too many.
    """
    shown = {name: found[name] for name in _ALWAYS if name in found}
    shown |= {name: found[name] for name in _SELDOM if found.get(name)}
    shown |= _frequent_codes(found)
    room = min(MAX_COUNTED, MAX_COUNTS - len(shown))
    for table in sorted(_tables_in(found)):
        own = _counts_of_table(found, table)
        if any(len(name) > MAX_NAME for name in own):
            continue
        room -= len(own)
        if room < 0:
            break
        shown |= own
    return shown


def counts_in(shown: Mapping[str, int]) -> Counter[str]:
    """The counts that a run shows, to which more can be added."""
    found = Counter(shown)
    if EVENTS in found and RECEIVED not in found:
        # An earlier release did not count duplicates.
        found[RECEIVED] = found[EVENTS] - found[REPLAYED] + found[REFUSED]
    for table in _tables_in(found):
        name = f"{RECEIVED}:{table}"
        found[name] = shown.get(name, found[f"{ITEMS}:{table}"])
    return found


def intake_in(shown: Mapping[str, int]) -> Counter[str]:
    """The counts of a run that are of its intake."""
    return Counter(
        {name: count for name, count in shown.items() if name.partition(":")[0] in _SELDOM}
    )


def items_in(shown: Mapping[str, int]) -> Counter[str]:
    """The stored items of each table that the counts of a run name."""
    named = Counter(dict(_counts_of_tables(shown, ITEMS)))
    elsewhere = shown.get(ITEMS, 0) - named.total()
    return named + Counter({_ELSEWHERE: elsewhere})


def _counts_of_tables(found: Mapping[str, int], kind: str) -> Iterator[tuple[str, int]]:
    start = f"{kind}:"
    for name, count in found.items():
        if name.startswith(start):
            yield name.removeprefix(start), count


def _tables_in(found: Mapping[str, int]) -> set[str]:
    return {
        table for kind in (*_OF_TABLES, RECEIVED) for table, _ in _counts_of_tables(found, kind)
    }


def _counts_of_table(found: Mapping[str, int], table: str) -> dict[str, int]:
    own = {name: found[name] for kind in _OF_TABLES if found.get(name := f"{kind}:{table}")}
    received = found.get(f"{RECEIVED}:{table}", 0)
    if ITEMS in found and received != found.get(f"{ITEMS}:{table}", 0):
        own[f"{RECEIVED}:{table}"] = received
    return own


def _frequent_codes(found: Mapping[str, int]) -> dict[str, int]:
    codes = [name for name in found if name.startswith(f"{REFUSED}:")]
    frequent = sorted(codes, key=lambda name: (-found[name], name))[:MAX_CODES]
    return {name: found[name] for name in frequent}
