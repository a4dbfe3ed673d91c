"""Grouping rules, and the storage of both kinds of naming documents.

Grouping rules send the updates of several entities to one destination. Like name mappings they
change names of tables only; they override name mappings for the path and the entity. An admin
stores the documents, and every sink reads them.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import partial
from typing import Final

import msgspec
from cachetools import LRUCache

from penstock.datastore.access.access import Access
from penstock.datastore.access.work import NOBODY, WorkPayer, formula_units
from penstock.datastore.errors import BadArgument, FieldProblem, Invalid, NotFound, NotPermitted
from penstock.datastore.formulas.threads import run_in_formula_thread
from penstock.datastore.interruptible_work import InterruptibleWork
from penstock.datastore.ngsi.naming.mappings import MAX_BYTES, Mapper, NameMappings, read_mappings
from penstock.datastore.ngsi.naming.patterns import PatternError, compile_pattern
from penstock.datastore.ngsi.naming.table_names import NamingPlace
from penstock.datastore.ngsi.notification import check_path
from penstock.datastore.ngsi.options import SinkOptions
from penstock.datastore.request_threads import run_in_request_thread
from penstock.datastore.roles import ROOT, Role
from penstock.datastore.table.layout import NAMING_RULES
from penstock.datastore.table.port import Item, Table, Update, key_of
from penstock.datastore.unreadable_json import JSON_ERRORS, describe_unreadable

MAX_RULES: Final = 1000
KEPT_PLACES: Final = 20_000
"""The notified places whose destinations are remembered, more than a sink holds events."""

MAX_DESTINATION: Final = 256
FIELDS: Final = ("entityId", "entityType", "servicePath")


class GroupingRule(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A rule: every update that it matches goes to `destination`, in `fiware_service_path`.

    Its `regex` must match the concatenated values of `fields`, in their listed order and
    without a separator.
    """

    id: int
    fields: tuple[str, ...]
    regex: str
    destination: str
    fiware_service_path: str


class GroupingRules(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The document of grouping rules: the first rule that matches applies."""

    grouping_rules: tuple[GroupingRule, ...] = ()


@dataclass(frozen=True, slots=True)
class Grouper:
    """Grouping rules whose patterns are all valid."""

    rules: GroupingRules

    @classmethod
    def from_rules(cls, rules: GroupingRules) -> "Grouper":
        """Check rules and wrap them; raises Invalid with every problem."""
        if problems := list(_problems(rules)):
            raise Invalid(problems)
        return cls(rules)

    def match_rule(self, place: NamingPlace) -> GroupingRule | None:
        """The first rule that matches the place, or None."""
        texts = dict(zip(FIELDS, (place.entity_id, place.entity_type, place.path), strict=True))
        for rule in self.rules.grouping_rules:
            if compile_pattern(rule.regex).matches("".join(texts[field] for field in rule.fields)):
                return rule
        return None


MAPPINGS: Final = "mappings"
GROUPING: Final = "grouping"


class NamingDocuments(msgspec.Struct, frozen=True):
    """The stored naming documents; None where no document is stored."""

    mappings: str | None = None
    grouping: str | None = None


@dataclass(slots=True)
class Renamer:
    """Name mappings and grouping rules that are in force; None where a feature is off.

    It remembers places, the latest KEPT_PLACES of them, as matching all rules may take a second.
    `documents` are those that it was made of.
    """

    mapper: Mapper | None = None
    grouper: Grouper | None = None
    documents: NamingDocuments = field(default_factory=NamingDocuments)
    _known: LRUCache[NamingPlace, NamingPlace] = field(
        default_factory=lambda: LRUCache(KEPT_PLACES)
    )

    async def find_place(self, notified: NamingPlace) -> NamingPlace:
        """The place that names the destination for the updates of a notified place."""
        if self.mapper is None and self.grouper is None:
            return notified
        if notified not in self._known:
            await self.match_places([notified])
        return self._known[notified]

    async def match_places(
        self, notified: Iterable[NamingPlace], payer: WorkPayer = NOBODY
    ) -> None:
        """Match the rules with the places that are new, at the turn of the payer.

        Raises LimitExceeded if that takes more than a minute of processor time.
        """
        if self.mapper is None and self.grouper is None:
            return
        if new := {place for place in notified if place not in self._known}:
            self._known.update(
                await run_in_request_thread(partial(self._rename_places, new), payer)
            )

    def _rename_places(
        self, places: Iterable[NamingPlace], steps: InterruptibleWork
    ) -> dict[NamingPlace, NamingPlace]:
        found = {}
        for place in places:
            steps.require_wanted()
            found[place] = self.rename_place(place)
        return found

    def rename_place(self, notified: NamingPlace) -> NamingPlace:
        """Match the rules with a notified place, and return the place of its destination."""
        place = notified if self.mapper is None else self.mapper.map_place(notified)
        rule = None if self.grouper is None else self.grouper.match_rule(notified)
        if rule is None:
            return place
        return place._replace(
            path=rule.fiware_service_path, entity_id=rule.destination, entity_type=""
        )


NO_RULES: Final = Renamer()


def read_rules(document: bytes) -> GroupingRules:
    """Decode a document of grouping rules; raises Invalid if it is malformed."""
    if len(document) > MAX_BYTES:
        raise Invalid([FieldProblem(["rules"], f"are more than {MAX_BYTES} bytes")])
    try:
        return msgspec.json.decode(document, type=GroupingRules)
    except JSON_ERRORS as error:
        words = f"are no grouping rules: {describe_unreadable(error)}"
        raise Invalid([FieldProblem(["rules"], words)]) from None


def _problems(rules: GroupingRules) -> Iterator[FieldProblem]:
    if len(rules.grouping_rules) > MAX_RULES:
        yield FieldProblem(["grouping_rules"], f"are more than {MAX_RULES}")
        return
    ids = set[int]()
    for position, rule in enumerate(rules.grouping_rules):
        at = ["grouping_rules", str(position)]
        if rule.id in ids:
            yield FieldProblem([*at, "id"], "is the id of another rule")
        ids.add(rule.id)
        for name, message in _rule_problems(rule):
            if message:
                yield FieldProblem([*at, name], message)


def _rule_problems(rule: GroupingRule) -> Iterator[tuple[str, str | None]]:
    unknown = [field for field in rule.fields if field not in FIELDS]
    if unknown or not rule.fields or len(set(rule.fields)) < len(rule.fields):
        yield "fields", f"must be one or more of {', '.join(FIELDS)}, each once"
    yield "regex", _regex_problem(rule.regex)
    if not 0 < len(rule.destination) <= MAX_DESTINATION:
        yield "destination", f"must have 1 to {MAX_DESTINATION} characters"
    yield "fiware_service_path", _path_problem(rule.fiware_service_path)


def _regex_problem(text: str) -> str | None:
    if not text:
        return "must not be empty"
    try:
        compile_pattern(text)
    except PatternError as bad:
        return str(bad)
    return None


def _path_problem(path: str) -> str | None:
    try:
        check_path(path)
    except BadArgument as bad:
        return bad.message
    return None


@dataclass(frozen=True, slots=True)
class NamingRules:
    """The naming documents, for admins at the root: they apply to every service."""

    access: Access

    async def put_mappings(self, document: bytes) -> NameMappings:
        """Replace the name mappings; raises Invalid and keeps the old ones if they are wrong."""
        self._require(Role.ADMIN)
        self.access.work.spend_more(formula_units(len(document)))
        mapper = await run_in_formula_thread(partial(_compile_mapper, document))
        await self._put(MAPPINGS, document)
        return mapper.mappings

    async def put_rules(self, document: bytes) -> GroupingRules:
        """Replace the grouping rules; raises Invalid and keeps the old ones if they are wrong."""
        self._require(Role.ADMIN)
        self.access.work.spend_more(formula_units(len(document)))
        grouper = await run_in_formula_thread(partial(_compile_grouper, document))
        await self._put(GROUPING, document)
        return grouper.rules

    async def documents(self) -> NamingDocuments:
        """Read both documents exactly as they were stored; the caller must be a root reader."""
        self._require(Role.READER)
        return await read_documents(self.access.table)

    def _require(self, role: Role) -> None:
        """Raise NotFound for a caller without a root role, who may not know that rules exist."""
        caller = self.access.caller
        if not caller.has_role(Role.READER, ROOT):
            raise NotFound("There are no naming rules.")
        if not caller.has_role(role, ROOT):
            raise NotPermitted(f"This needs the role {role.name} at {ROOT}.")

    async def _put(self, kind: str, document: bytes) -> None:
        item: Item = {
            **NAMING_RULES.item(kind=kind),
            "document": document.decode(),
            "updatedAt": self.access.clock.timestamp(),
            "updatedBy": self.access.caller.user_id,
        }
        # The row always has the same attributes, so an update keeps all others.
        key = key_of(item)
        written = {name: value for name, value in item.items() if name not in key._fields}
        await self.access.table.transact([Update(key=key, set=written)])


async def read_documents(table: Table) -> NamingDocuments:
    """Read both: consistent gets of `pk = NM:<kind>, sk = NM`."""
    keys = [NAMING_RULES.key(kind=kind) for kind in (MAPPINGS, GROUPING)]
    found = (await table.get(keys, consistent=True)).items
    texts = (str(found[key]["document"]) if key in found else None for key in keys)
    return NamingDocuments(*texts)


def _compile_mapper(document: bytes) -> Mapper:
    """Read name mappings and compile their patterns, a thousand of which take seconds."""
    return Mapper.from_mappings(read_mappings(document))


def _compile_grouper(document: bytes) -> Grouper:
    """Read grouping rules and compile their patterns."""
    return Grouper.from_rules(read_rules(document))


async def load_renamer(
    table: Table, options: SinkOptions, payer: WorkPayer = NOBODY, known: Renamer = NO_RULES
) -> Renamer:
    """Load the naming documents that the options enable; `known` if they are those it has."""
    if not options.enable_name_mappings and not options.enable_grouping:
        return known
    stored = await read_documents(table)
    documents = NamingDocuments(
        stored.mappings if options.enable_name_mappings else None,
        stored.grouping if options.enable_grouping else None,
    )
    if documents == known.documents:
        return known
    return await run_in_request_thread(lambda _: _compile_renamer(documents), payer)


def _compile_renamer(documents: NamingDocuments) -> Renamer:
    mappings, grouping = documents.mappings, documents.grouping
    return Renamer(
        None if mappings is None else _compile_mapper(mappings.encode()),
        None if grouping is None else _compile_grouper(grouping.encode()),
        documents,
    )
