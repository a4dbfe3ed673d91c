"""Which newlines separate lines, and the limits that hold while a formula is being read."""

from collections.abc import Iterable, Iterator

from lark import Token

from penstock.formula.errors import Code, FormulaSyntax, Position, Problem
from penstock.formula.limits import MAX_DEPTH, MAX_TOKENS

_OPENS = frozenset(("_LPAR", "LSQB"))
_CLOSES = frozenset(("_RPAR", "_RSQB"))
_WANTS_MORE = frozenset(("PLUS", "MINUS", "STAR", "SLASH", "CARET", "COMPARE", "ASSIGN", "SET"))
_GOES_ON = _WANTS_MORE - {"MINUS", "SET"}  # a minus may begin a line: it is also a sign


class Layout:
    """Drops newlines that are mere space: in brackets, beside operators, repeated, at the ends."""

    always_accept: tuple[str, ...] = ("_NEWLINE",)

    def process(self, stream: Iterator[Token]) -> Iterator[Token]:
        return _separators(_bounded(stream))


def _bounded(stream: Iterable[Token]) -> Iterator[Token]:
    depth = 0
    for count, token in enumerate(stream, start=1):
        if count > MAX_TOKENS:
            message = f"the formula has more than {MAX_TOKENS} words and signs"
            raise _layout_refusal(Code.FORMULA_TOO_COMPLEX, message, token)
        if token.type in _OPENS:
            depth += 1
        elif token.type in _CLOSES:
            depth = max(0, depth - 1)
        if depth > MAX_DEPTH:
            message = f"brackets are nested more than {MAX_DEPTH} deep"
            raise _layout_refusal(Code.FORMULA_TOO_DEEP, message, token)
        if token.type != "_NEWLINE" or depth == 0:
            yield token


def _separators(stream: Iterable[Token]) -> Iterator[Token]:
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


def _layout_refusal(code: Code, message: str, token: Token) -> FormulaSyntax:
    at = Position(token.line or 1, token.column or 1)
    return FormulaSyntax(Problem(code, message, at))
