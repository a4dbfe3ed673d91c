"""Validation of documents by the rules of GraphQL and those of Strawberry, joined to one."""

from collections.abc import Callable, Sequence
from functools import cache, partial
from typing import Any, Final, NamedTuple, TypeAlias

from graphql import (
    BREAK,
    SKIP,
    ASTValidationRule,
    DocumentNode,
    GraphQLError,
    GraphQLSchema,
    Node,
    ValidationContext,
    specified_rules,
    validate,
)
from graphql.language.visitor import EnterLeaveVisitor, VisitorActionEnum
from strawberry.schema.validation_rules.maybe_null import MaybeNullValidationRule
from strawberry.schema.validation_rules.one_of import OneOfInputValidationRule

RULES: Final = (*specified_rules, MaybeNullValidationRule, OneOfInputValidationRule)

_Calls: TypeAlias = Sequence[tuple[int, Callable[..., Any] | None]]
"""The functions of rules, by the positions of these."""

_NO_HANDLERS: Final = EnterLeaveVisitor(None, None)


def find_faults(schema: GraphQLSchema, document: DocumentNode, most: int) -> list[GraphQLError]:
    """Return the faults of the document without suggestions; behind `most`, one says so."""
    return validate(schema, document, [AllRules], most, hide_suggestions=True)


class _Handlers(NamedTuple):
    """The methods of a rule, by its position, for the nodes of one kind."""

    position: int
    enter: str | None
    leave: str | None


class AllRules(ASTValidationRule):
    """The rules as one, which hands each node to those only that handle its kind.

    graphql-core asks every rule of every document for its methods for each kind of node, and most
    have none: that is more than half of the time of a validation.
    """

    def __init__(self, context: ValidationContext) -> None:
        super().__init__(context)
        self._rules = [rule(context) for rule in RULES]
        # The node below which a rule sees nothing; BREAK if it sees nothing more.
        self._skipped: list[Node | VisitorActionEnum | None] = [None] * len(RULES)

    def get_enter_leave_for_kind(self, kind: str) -> EnterLeaveVisitor:
        known = self.enter_leave_map.get(kind)
        if known is None:
            known = self.enter_leave_map[kind] = self._join(_find_handlers(kind))
        return known

    def _join(self, handlers: tuple[_Handlers, ...]) -> EnterLeaveVisitor:
        if not handlers:
            return _NO_HANDLERS
        entering = [(each.position, self._method(each.position, each.enter)) for each in handlers]
        leaving = [(each.position, self._method(each.position, each.leave)) for each in handlers]
        return EnterLeaveVisitor(partial(self._enter, entering), partial(self._leave, leaving))

    def _enter(self, entering: _Calls, node: Node, *args: Any) -> None:
        skipped = self._skipped
        for position, call in entering:
            if call is not None and skipped[position] is None:
                action = call(node, *args)
                if action is SKIP or action is False:
                    skipped[position] = node
                elif action is BREAK or action is True:
                    skipped[position] = BREAK

    def _leave(self, leaving: _Calls, node: Node, *args: Any) -> None:
        skipped = self._skipped
        for position, call in leaving:
            if skipped[position] is node:
                skipped[position] = None
            elif call is not None and skipped[position] is None:
                action = call(node, *args)
                if action is BREAK or action is True:
                    skipped[position] = BREAK

    def _method(self, position: int, name: str | None) -> Callable[..., Any] | None:
        return None if name is None else getattr(self._rules[position], name)


@cache
def _find_handlers(kind: str) -> tuple[_Handlers, ...]:
    """Return the methods of the rules that handle nodes of the kind."""
    found = [
        _Handlers(position, _find_method(rule, "enter", kind), _find_method(rule, "leave", kind))
        for position, rule in enumerate(RULES)
    ]
    return tuple(each for each in found if each.enter or each.leave)


def _find_method(rule: type[ASTValidationRule], moment: str, kind: str) -> str | None:
    return next((name for name in (f"{moment}_{kind}", moment) if hasattr(rule, name)), None)
