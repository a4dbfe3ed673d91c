"""Parses the text of a formula into a tree, or raises a syntax error with place and expectation.

Newlines separate lines except in brackets and beside operators. Limits hold while tokens are read.
"""

import re
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from threading import Lock
from typing import Final, cast

from cachetools import LRUCache
from lark import Lark, Token, Transformer, v_args
from lark.exceptions import UnexpectedCharacters, UnexpectedToken, VisitError

from penstock.formula.core import numbers
from penstock.formula.core.errors import (
    START,
    Fault,
    FormulaCode,
    FormulaProblem,
    FormulaSyntax,
    Position,
    problem,
)
from penstock.formula.core.limits import MAX_DEPTH, MAX_TEXT, MAX_TOKENS
from penstock.formula.syntax.syntax_errors import unexpected_character, unexpected_token
from penstock.formula.syntax.tree import (
    Assign,
    CalculationCall,
    Chain,
    ChainStep,
    Expression,
    Formula,
    FunctionCall,
    Index,
    Line,
    Literal,
    Name,
    Negate,
    Operator,
    Option,
    children,
)

_OPENS = frozenset(("_LPAR", "LSQB"))
_CLOSES = frozenset(("_RPAR", "_RSQB"))
_WANTS_MORE = frozenset(("PLUS", "MINUS", "STAR", "SLASH", "CARET", "COMPARE", "ASSIGN", "SET"))
_GOES_ON = _WANTS_MORE - {"MINUS", "SET"}  # a minus may begin a line as a sign


class NewlineFilter:
    """Drops newlines that are only space: in brackets, beside operators, repeated, at the ends."""

    always_accept: tuple[str, ...] = ("_NEWLINE",)

    def process(self, stream: Iterator[Token]) -> Iterator[Token]:
        return _drop_newlines(_check_limits(stream))


def _check_limits(stream: Iterable[Token]) -> Iterator[Token]:
    depth = 0
    for count, token in enumerate(stream, start=1):
        if count > MAX_TOKENS:
            message = f"the formula has more than {MAX_TOKENS} words and signs"
            raise _layout_refusal(FormulaCode.FORMULA_TOO_COMPLEX, message, token)
        if token.type in _OPENS:
            depth += 1
        elif token.type in _CLOSES:
            depth = max(0, depth - 1)
        if depth > MAX_DEPTH:
            message = f"brackets are nested more than {MAX_DEPTH} deep"
            raise _layout_refusal(FormulaCode.FORMULA_TOO_DEEP, message, token)
        if token.type != "_NEWLINE" or depth == 0:
            yield token


def _drop_newlines(stream: Iterable[Token]) -> Iterator[Token]:
    newline: Token | None = None
    last: Token | None = None
    for token in stream:
        if token.type == "_NEWLINE":
            newline = newline or token
            continue
        if newline and last and last.type not in _WANTS_MORE and token.type not in _GOES_ON:
            yield newline
        newline = None
        last = token
        yield token


def _layout_refusal(code: FormulaCode, message: str, token: Token) -> FormulaSyntax:
    at = Position(token.line or 1, token.column or 1)
    return FormulaSyntax(FormulaProblem(code, message, at))


_ESCAPED: Final = re.compile(r"\\(['\\])")
_NAME: Final = re.compile(r"[\w:#]+(?: +[\w:#]+)*")
_CALLEE: Final = re.compile(r"[^\W\d]\w*")
_MAX_INDEX_DIGITS: Final = 6


def text_of_literal(written: str) -> str:
    """The text that a literal in quotes stands for."""
    return _ESCAPED.sub(r"\1", str(written)[1:-1])


def _position_of(token: Token) -> Position:
    return Position(token.line or 1, token.column or 1)


def _refusal(code: FormulaCode, message: str, at: Position) -> FormulaSyntax:
    return FormulaSyntax(FormulaProblem(code, message, at))


@v_args(inline=True)
class _Builder(Transformer[Token, Formula]):
    """Builds the tree while the text is parsed; it has one method for each rule of the grammar."""

    def number(self, token: Token) -> Literal:
        try:
            value = numbers.read_number(token)
        except Fault as fault:
            raise _refusal(fault.code, fault.message, _position_of(token)) from None
        if value is None:
            raise _refusal(
                FormulaCode.NUMBER_OUT_OF_RANGE, str(numbers.out_of_range()), _position_of(token)
            )
        return Literal(_position_of(token), value)

    def text(self, token: Token) -> Literal:
        return Literal(_position_of(token), text_of_literal(token))

    def true(self, token: Token) -> Literal:
        return Literal(_position_of(token), True)

    def false(self, token: Token) -> Literal:
        return Literal(_position_of(token), False)

    def null(self, token: Token) -> Literal:
        return Literal(_position_of(token), None)

    def name(self, token: Token) -> Name:
        return Name(_position_of(token), str(token)[1:])

    def negate(self, minus: Token, operand: Expression) -> Negate:
        return Negate(_position_of(minus), operand)

    def index(self, operand: Expression, bracket: Token, index: Token) -> Index:
        if not index.isdigit() or len(index) > _MAX_INDEX_DIGITS:
            message = "an index is a whole number, as in `[0]`"
            raise _refusal(FormulaCode.SYNTAX, message, _position_of(index))
        return Index(_position_of(bracket), operand, int(index))

    def option(self, name: Token, _assign: Token, value: Expression) -> Option:
        return Option(_position_of(name), str(name), value)

    def assign(self, _set: Token, name: Token, _assign: Token, value: Expression) -> Assign:
        return Assign(_position_of(name), str(name)[1:], value)

    def call(self, name: Token, *parts: Expression | Option) -> Expression:
        arguments, options = _split_parts(parts)
        if name.upper() != "IN":
            return FunctionCall(_position_of(name), name.upper(), arguments, options)
        if len(arguments) == 1 and isinstance(arguments[0], Name) and not options:
            return arguments[0]
        raise _refusal(
            FormulaCode.SYNTAX, "IN takes one parameter, as in `IN(:name)`", _position_of(name)
        )

    def custom(self, name: Token, *parts: Expression | Option) -> CalculationCall:
        return CalculationCall(_position_of(name), str(name)[1:], *_split_parts(parts))

    def start(self, *lines: Line | Token) -> Formula:
        return Formula("", tuple(line for line in lines if not isinstance(line, Token)))

    def chain(self, first: Expression, *rest: Token | Expression) -> Chain:
        pairs = zip(rest[::2], rest[1::2], strict=True)
        steps = tuple(
            ChainStep(
                _position_of(cast("Token", sign)),
                cast("Operator", str(sign)),
                cast("Expression", operand),
            )
            for sign, operand in pairs
        )
        return Chain(first.at, first, steps)

    comparison = sum = product = power = chain


def _split_parts(
    parts: tuple[Expression | Option, ...],
) -> tuple[tuple[Expression, ...], tuple[Option, ...]]:
    arguments = tuple(part for part in parts if not isinstance(part, Option))
    return arguments, tuple(part for part in parts if isinstance(part, Option))


_READER: Final = Lark(
    Path(__file__).with_name("grammar.lark").read_text("utf-8"),
    parser="lalr",
    lexer="basic",
    postlex=NewlineFilter(),
    transformer=_Builder(),
    maybe_placeholders=False,
)
_READ: Final = LRUCache[str, Formula](500_000, lambda read: max(1, len(read.text)))
_READ_LOCK: Final = Lock()


def parse(text: str) -> Formula:
    """Parse a whole formula; it raises FormulaSyntax and no other exception, for any text."""
    with _READ_LOCK:
        kept = _READ.get(text)
    if kept is not None:
        return kept
    formula = parse_uncached(text)
    with _READ_LOCK:
        _READ[text] = formula
    return formula


def parse_uncached(text: str) -> Formula:
    """Parse a formula without the cache."""
    if len(text) > MAX_TEXT:
        message = f"the formula has {len(text)} characters, more than {MAX_TEXT}"
        raise FormulaSyntax(FormulaProblem(FormulaCode.FORMULA_TOO_LONG, message, START))
    try:
        read = cast("Callable[[str], Formula]", _READER.parse)(text)
    except UnexpectedToken as error:
        raise unexpected_token(text, error.token, _READER.parse_interactive(text)) from None
    except UnexpectedCharacters as error:
        raise unexpected_character(text, error, _READER.parse_interactive(text)) from None
    except VisitError as error:
        raise _with_excerpt(text, cast("FormulaSyntax", error.orig_exc)) from None
    except FormulaSyntax as error:
        raise _with_excerpt(text, error) from None
    _refuse_depth(text, read)
    return Formula(text, read.lines)


def is_writable(key: str) -> bool:
    """Whether a parameter with this key can be written in a formula as `:key`."""
    return _NAME.fullmatch(key) is not None


def is_callable_name(name: str) -> bool:
    """Whether a calculation with this name can be written in a formula as `#name`."""
    return _CALLEE.fullmatch(name) is not None


def _with_excerpt(text: str, error: FormulaSyntax) -> FormulaSyntax:
    bare = error.problem
    return FormulaSyntax(problem(text, bare.code, bare.message, bare.at), error.expected)


def _refuse_depth(text: str, formula: Formula) -> None:
    waiting: list[tuple[Line, int]] = [(line, 1) for line in formula.lines]
    while waiting:
        node, depth = waiting.pop()
        if depth > MAX_DEPTH:
            message = f"operations are nested more than {MAX_DEPTH} deep"
            raise FormulaSyntax(problem(text, FormulaCode.FORMULA_TOO_DEEP, message, node.at))
        waiting.extend((child, depth + 1) for child in children(node))
